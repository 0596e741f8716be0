-- May this caller act under this name? An agent's record is "display token session host since seen state project";
-- a token of "-" is a name that nobody holds: free for all. Gives the name as first written, or nil and the refusal.
local SEEN_EVERY_MS = 30000 -- presence is written at most this often: a write costs more than the check

local function speak(agents, me, token, display)
    local record = redis.call("HGET", agents, me)
    if not record then return display or me end
    local held, session, host, since, seen, state, project =
        string.match(record, "^%S+ (%S+) (%S+) (%S+) (%d+) (%d+) (%S+) (%S+)$")
    display = string.match(record, "^%S+")
    if held ~= "-" and held ~= token then
        return nil, {"not_you", display, session, host, since, seen, project}
    end
    if NOW_MS - tonumber(seen) > SEEN_EVERY_MS or state == "ended" then
        local now = held == "-" and "free" or "live"
        redis.call("HSET", agents, me, table.concat({display, held, session, host, since, NOW_MS, now, project}, " "))
    end
    return display
end

-- An agent exists once it is named; born free, held by nobody; seen when it is the one who acts.
local function bear(agents, me, display, seen)
    redis.call("HSETNX", agents, me, display .. " - - - 0 " .. (seen or 0) .. " free -")
end
