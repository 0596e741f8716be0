-- May this caller act under this name? Gives the name as first written, or nil and the refusal. Needs agent.lua.
local SEEN_EVERY_MS = 30000 -- presence is written at most this often: a write costs more than the check

local function speak(agents, me, token, display)
    local record = redis.call("HGET", agents, me)
    if not record then return display or me end
    local a = agent_of(record)
    if a.token ~= "-" and a.token ~= token then
        return nil, {"not_you", a.display or me, a.session, a.host, a.since, a.seen, a.project}
    end
    if NOW_MS - tonumber(a.seen) > SEEN_EVERY_MS or a.state == "ended" then
        a.seen, a.state = NOW_MS, a.token == "-" and "free" or "live"
        redis.call("HSET", agents, me, agent_text(a))
    end
    return a.display
end

-- An agent exists once it is named; born free, held by nobody; seen when it is the one who acts. Gives 1 where it is new.
local function bear(agents, me, display, seen)
    return redis.call("HSETNX", agents, me, display .. " - - - 0 " .. (seen or 0) .. " free -")
end
