-- Bind a name to a session. A name belongs to one session at a time; each binding draws a new token and the old one is refused from then on.
-- want: take (mine, free, or my project's ended session on this host) | over (a quiet or gone holder too) | force (a live one too: a person's way).
-- Each change of hands leaves a notice in the agent's channels and rings the old holder.
-- Replies: {"ok", how, display, old_session, seen_ms, token}: how = new | mine | succeeded | taken_over. {"again", reply}
-- {"held", display, session, host, since, seen, project}
-- with: idem, head, notice, presence
local agents, sessions, heads, idem, bell, ear, presence = unpack(KEYS)
-- then KEYS: stream and live bell of each of its channels
local name, display, session, host, project, token, want, keep, reason = unpack(ARGV)
-- then ARGV: channels
local LIVE_MS, GONE_MS = 120000, 86400000

local past, held_by = again(idem), redis.call("HGET", agents, name)
local drawn = past and string.match(past[2], "[^\31]*$")
if drawn and held_by and string.match(held_by, "^%S+ (%S+)") == drawn then return past end -- else it changed hands since: judged anew
local record, how, old, seen = held_by, "new", "-", 0
if record then
    local written, held, holder, there, since, last, state, of = string.match(record, "^(%S+) (%S+) (%S+) (%S+) (%d+) (%d+) (%S+) (%S+)$")
    display, old, seen = written, holder, tonumber(last)
    local waits = listeners(ear) -- a wait of its: not gone, however long unseen
    local seat = session_of(redis.call("HGET", presence, holder))
    local beaten = seat and seat.state ~= "ended" and NOW_MS - seat.beat < LIVE_MS -- idle for days, and its harness is there
    local gone = waits == 0 and not beaten and (state == "ended" or NOW_MS - seen > GONE_MS)
    if held == "-" then how = "new"
    elseif holder == session or redis.call("HGET", sessions, session) == name then how = "mine"
    elseif gone and of == project and there == host then how = "succeeded" -- the same path elsewhere is another place (all containers have one)
    elseif want == "force" or (want == "over" and waits == 0 and NOW_MS - seen > LIVE_MS) then how = "taken_over"
    else return {"held", written, holder, there, since, last, of} end
end
redis.call("HSET", agents, name, table.concat({display, token, session, host, NOW_MS, NOW_MS, "live", project}, " "))
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
