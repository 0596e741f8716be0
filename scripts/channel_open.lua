-- Open or join a channel: whoever comes first creates it, later ones fill an empty topic or briefing only. The caller becomes a member at the
-- channel's end (or at `since`); those named at creation are unread from the start, even if they first appear days later.
-- Replies: {"ok", new (0|1), name, joined (new|again|already|no), head, ignored (a,b)} {"again", reply}
-- {"not_you", ...} {"closed", name, reason}
-- with: idem, agent, speak, head, mark, join
local world, meta, members, heads, agents, broadcasts, idem, opened, marks, bell = unpack(KEYS)
-- then KEYS: marks and bell of each one named
local format, channel, name, me, display, token, keep, epoch, topic, briefing, mode, cap, since = unpack(ARGV)
-- then ARGV: named
local CAP = 200 -- messages, where none is asked for: two polite models do not stop by themselves

local past = again(idem)
if past then return past end
if me ~= "" then
    local written, refusal = speak(agents, me, token, display)
    if refusal then return refusal end
    display = written
end
local facts, ignored, new = redis.call("HMGET", meta, "state", "reason", "topic", "briefing", "mode", "cap"), {}, 0
local head, _, written = head_of(heads, channel)
if facts[1] == "closed" then return {"closed", written, facts[2]} end
if facts[1] then
    name = written
    local function fill(field, value)
        local has = redis.call("HGET", meta, field)
        if value == "" or value == has then return false end
        if has ~= "" then table.insert(ignored, field) return false end
        redis.call("HSET", meta, field, value)
        return true
    end
    fill("topic", topic)
    if fill("briefing", briefing) then redis.call("HSET", meta, "briefing_by", display, "briefing_at", NOW_MS) end
    if mode ~= "" and mode ~= facts[5] then table.insert(ignored, "broadcast") end
    if cap ~= "" and cap ~= facts[6] then table.insert(ignored, "max_messages") end
    if #ARGV > 13 then table.insert(ignored, "members") end
else
    new, head, mode = 1, 0, mode == "" and "ordinary" or mode
    redis.call("HSET", meta, "name", name, "state", "open", "reason", "", "how", "", "mode", mode, "topic", topic, "briefing", briefing,
        "briefing_by", briefing ~= "" and display or "", "briefing_at", briefing ~= "" and NOW_MS or 0, "cap", cap ~= "" and cap or (mode == "broadcast" and 0 or CAP),
        "talk", 0, "count", 0, "created_at", NOW_MS, "created_by", display, "epoch", epoch)
    if not WRITTEN then redis.call("HSET", world, "format", format, "created_at", NOW_MS) end
    redis.call("HSET", heads, channel, table.concat({0, epoch, name}, " "))
    if mode == "broadcast" then redis.call("HSET", broadcasts, channel, name) end
    redis.call("SPUBLISH", opened, channel)
    for i = 14, #ARGV do -- unread from the start
        join(members, agents, meta, heads, KEYS[2 * i - 17], KEYS[2 * i - 16], channel, string.lower(ARGV[i]), ARGV[i], 0)
    end
end
if me ~= "" then bear(agents, me, display, NOW_MS) end
local joined = me == "" and "no" or join(members, agents, meta, heads, marks, bell, channel, me, display, since)
if since ~= "" and (joined == "already" or joined == "again") then table.insert(ignored, "since") end
return remember(idem, keep, {"ok", new, name, joined, head, table.concat(ignored, ",")})
