-- Append messages that were numbered elsewhere, keeping their number and time. Only above the channel's head: what is there is never changed.
-- Replies: {"ok", name, head, stored} {"not_you", ...} {"no_channel", channel} {"not_member", name, me} {"no_seq", name, seq, head}
-- with: speak, head, gate
local stream, meta, members, heads, agents = unpack(KEYS)
local channel, me, token = unpack(ARGV)
-- then ARGV: seq, kind, from, ts_us, body, to, wakes, reply, thread, title, status, repeated
local WHOLE = 4000

local display, name = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
local head, epoch = head_of(heads, channel)
local stored, talk = 0, 0
if #ARGV > 3 and tonumber(ARGV[4]) <= head then return {"no_seq", name, ARGV[4], head} end
for i = 4, #ARGV, 11 do
    local seq, kind, from, ts, body, to, wakes, reply, thread, title, status = unpack(ARGV, i, i + 10)
    local fields = {"f", from, "k", kind, "w", wakes, "t", ts, "x", #body > WHOLE and "1" or "0", "b", body}
    for _, pair in ipairs({{"to", to}, {"r", reply}, {"th", thread}, {"h", title}, {"s", status}}) do
        if pair[2] ~= "" then table.insert(fields, pair[1]) table.insert(fields, pair[2]) end
    end
    redis.call("XADD", stream, "0-" .. seq, unpack(fields))
    head, stored = tonumber(seq), stored + 1
    if kind == "m" then talk = talk + 1 end
end
redis.call("HINCRBY", meta, "talk", talk)
redis.call("HSET", heads, channel, table.concat({head, epoch, name}, " "))
return {"ok", name, head, stored}
