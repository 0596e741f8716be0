-- Append messages that were numbered elsewhere, keeping number and time: all of a batch or none, and only above the channel's head: what is there
-- is never changed. It is history and wakes nobody; an importer that stood at the channel's end stands there again. A batch sent twice is stored once.
-- Replies: {"ok", name, head, stored} {"not_you", ...} {"no_channel", channel} {"not_member", name, me} {"closed", name, reason} {"damaged", name}
-- {"no_seq", name, seq, head} (a number is not above the one before it; or the channel does not end at `after`, "" = wherever it ends)
-- with: agent, speak, head, gate, mark, entry, damage, append
local stream, meta, members, heads, agents, marks, live = unpack(KEYS)
local channel, me, token, after = unpack(ARGV)
-- then ARGV: seq, kind, from, ts_us, body, to, wakes, reply, thread, title, status, repeated
local FIRST, ROW = 5, 11

local display, name, state = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
if state ~= "open" then return {"closed", name, redis.call("HGET", meta, "reason")} end
local head, epoch = head_of(heads, channel)
local before, stored, talk = head, 0, 0
if after ~= "" and tonumber(after) ~= head then
    local seq, _, _, ts, body = unpack(ARGV, #ARGV - ROW + 1, #ARGV)
    local entry = redis.call("XRANGE", stream, "0-" .. seq, "0-" .. seq)[1]
    local mine = tonumber(seq) == head and entry and entry[2][8] == ts and entry[2][12] == body
    return mine and {"ok", name, head, (#ARGV - FIRST + 1) / ROW} or {"no_seq", name, after, head} -- mine: its answer was lost, so it came again
end
local last = head
for i = FIRST, #ARGV, ROW do
    if tonumber(ARGV[i]) <= last then return {"no_seq", name, ARGV[i], head} end
    last = tonumber(ARGV[i])
end
for i = FIRST, #ARGV, ROW do
    local seq, kind, from, ts, body, to, wakes, reply, thread, title, status = unpack(ARGV, i, i + ROW - 1)
    local fields = entry_of(from, kind, "-", ts, body, to, reply, thread, title, status)
    if wakes ~= "-" then table.insert(fields, "wa") table.insert(fields, wakes) end -- whom it woke in its time: kept, and woken no more
    local _, failure = append(stream, "0-" .. seq, name, fields) -- only the first can fail: memory full, or a stranger's raw XADD before it
    if failure then return failure end
    if status == "summary" then redis.call("HSET", meta, "summary", seq) end
    head, stored = tonumber(seq), stored + 1
    if kind == "m" then talk = talk + 1 end
end
redis.call("HINCRBY", meta, "talk", talk)
set_head(heads, channel, head, epoch, name)
local mark = load_mark(marks, channel)
if mark.heard == before then mark.heard = head end
if mark.read == before then mark.read = head end
redis.call("HSET", marks, channel, mark_text(mark))
redis.call("SPUBLISH", live, "import " .. head)
return {"ok", name, head, stored}
