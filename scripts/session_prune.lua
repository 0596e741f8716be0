-- Forget sessions that are long over, and earlier ids of sessions that nobody goes on under. A session that comes back all the same is entered anew by its next hook.
-- Each is judged here once more: one that gave a sign meanwhile stays. `act` 0 only judges.
-- Replies: {"ok", sessions, ids}: what was removed (or would be), as lists of names
-- with: agent, presence
local presence, sessions, agents, scratch = unpack(KEYS)
local act, ended_ms, silent_ms, id_ms = unpack(ARGV)
-- then ARGV: sessions

redis.call("DEL", scratch) -- settles: must work when memory is full
local over, ids = {}, {}
for i = 5, #ARGV do
    local name = ARGV[i]
    local record = redis.call("HGET", presence, name)
    local s = session_of(record)
    local sign = s and math.max(s.active, s.beat)
    if s and (s.state == "ended" and NOW_MS - s.active > tonumber(ended_ms) or NOW_MS - sign > tonumber(silent_ms)) then
        table.insert(over, name)
        if act == "1" then redis.call("HDEL", presence, name) end
        record = false
    end
    local owner = not record and redis.call("HGET", sessions, name)
    if owner then -- an id whose agent went on under another one long ago, or is held by nobody
        local a = agent_of(redis.call("HGET", agents, owner))
        if not a.token or a.token == "-" or (a.session ~= name and NOW_MS - tonumber(a.since) > tonumber(id_ms)) then
            table.insert(ids, name)
            if act == "1" then redis.call("HDEL", sessions, name) end
        end
    end
end
return {"ok", over, ids}
