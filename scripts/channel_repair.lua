-- Make a damaged channel whole: what redischat numbered (0-<seq>) is copied to a new stream that takes the old one's place; what a stranger's raw
-- XADD put above ends. Numbers never change and go on behind the last one, also when the newest were trimmed. Marks that point beyond it, and a
-- count of members that is not theirs, are set right.
-- Replies: {"ok", name, kept, dropped, marks set right, count set right (0|1)} {"not_you", ...} {"no_channel", channel}
-- with: agent, speak, head, stand, mark, whole
local stream, draft, meta, members, heads, agents = unpack(KEYS)
-- then KEYS: marks of each member
local channel, me, token, agent = unpack(ARGV)

redis.call("DEL", draft) -- settles: must work when memory is full
local display, name = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local head, epoch = head_of(heads, channel)
local kept, dropped
kept, dropped, head = made_whole(stream, draft, head, function(entry) return entry[1] == "f" and entry[11] == "b" end)
set_head(heads, channel, head, epoch, name)
local lowered, here = 0, 0
for i = 7, #KEYS do
    local mark = load_mark(KEYS[i], channel)
    if mark and mark.epoch == epoch and math.max(mark.heard, mark.read, mark.spoke) > head then
        mark.heard, mark.read, mark.spoke = math.min(mark.heard, head), math.min(mark.read, head), math.min(mark.spoke, head)
        redis.call("HSET", KEYS[i], channel, mark_text(mark))
        lowered = lowered + 1
    end
end
for _, record in ipairs(redis.call("HVALS", members)) do if string.match(record, "^%S+ in ") then here = here + 1 end end
local miscounted = tonumber(redis.call("HGET", meta, "count")) ~= here
if miscounted then redis.call("HSET", meta, "count", here) end
return {"ok", name, kept, dropped, lowered, miscounted and 1 or 0}
