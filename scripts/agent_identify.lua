-- Bind a name to a session. A name belongs to one session at a time; each binding draws a new token and the old one is refused from then on.
-- want: take (mine, free, or my project's ended session on this host) | over (a quiet or gone holder too) | force (a live one too: a person's way).
-- Each change of hands leaves a notice in the agent's channels and rings the old holder.
-- Replies: {"ok", how, display, old_session, seen_ms, token}: how = new | mine | succeeded | taken_over. {"again", reply}
-- {"held", display, session, host, since, seen, project}
-- with: idem, agent, head, notice, presence
local agents, sessions, heads, idem, bell, ear, presence = unpack(KEYS)
-- then KEYS: stream and live bell of each of its channels
local name, display, session, host, project, token, want, keep, reason = unpack(ARGV)
-- then ARGV: channels
local LIVE_MS, GONE_MS = 120000, 86400000

local past, record = again(idem), redis.call("HGET", agents, name)
local held, how, old, seen = agent_of(record), "new", "-", 0
if past and string.match(past[2], "[^\31]*$") == held.token then return past end -- else it changed hands since: judged anew
if record then
    display, old, seen = held.display, held.session, tonumber(held.seen)
    local waits = listeners(ear) -- a wait of its: not gone, however long unseen
    local seat = session_of(redis.call("HGET", presence, held.session))
    local beaten = seat and seat.state ~= "ended" and NOW_MS - seat.beat < LIVE_MS -- idle for days, and its harness is there
    local gone = waits == 0 and not beaten and (held.state == "ended" or NOW_MS - seen > GONE_MS)
    if held.token == "-" then how = "new"
    elseif held.session == session or redis.call("HGET", sessions, session) == name then how = "mine"
    elseif gone and held.project == project and held.host == host then how = "succeeded" -- the same path elsewhere is another place (all containers have one)
    elseif want == "force" or (want == "over" and waits == 0 and NOW_MS - seen > LIVE_MS) then how = "taken_over"
    else return {"held", held.display, held.session, held.host, held.since, held.seen, held.project} end
end
local mine = {display = display, token = token, session = session, host = host, since = NOW_MS, seen = NOW_MS, state = "live", project = project}
redis.call("HSET", agents, name, agent_text(mine))
redis.call("HSET", sessions, session, name)
if how == "taken_over" then
    local bound = redis.call("HGETALL", sessions) -- whoever lost the name cannot have it back as "mine", under an earlier session id either
    for i = 1, #bound, 2 do if bound[i + 1] == name and bound[i] ~= session then redis.call("HDEL", sessions, bound[i]) end end
    for i = 10, #ARGV do
        local text = display .. " changed hands: another session speaks under this name from now on." .. (reason ~= "" and " Reason: " .. reason or "")
        if redis.call("HEXISTS", heads, ARGV[i]) == 1 then notice(KEYS[2 * i - 12], heads, KEYS[2 * i - 11], ARGV[i], display, "taken_over", text) end
    end
    redis.call("SPUBLISH", bell, "taken_over")
end
return remember(idem, keep, {"ok", how, display, old, seen, token})
