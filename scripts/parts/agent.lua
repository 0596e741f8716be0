-- An agent's record is "display token session host since seen state project"; a token of "-" is a name that nobody holds: free for all.
local function agent_of(record) -- all of it is nil where there is none
    local display, token, session, host, since, seen, state, project = string.match(record or "", "^(%S+) (%S+) (%S+) (%S+) (%d+) (%d+) (%S+) (%S+)$")
    return {display = display, token = token, session = session, host = host, since = since, seen = seen, state = state, project = project}
end

local function agent_text(a)
    return table.concat({a.display, a.token, a.session, a.host, a.since, a.seen, a.state, a.project}, " ")
end
