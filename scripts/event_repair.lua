-- Make a channel's events whole: what redischat numbered (0-<n>) is copied to a new stream that takes the old one's place; what a stranger's raw XADD
-- put above ends. Numbers never change and go on behind the last one that is there or was read.
-- Replies: {"ok", name, kept, dropped} {"not_you", ...} {"no_channel", channel}
-- with: agent, speak, head, stand, whole
local stream, draft, marks, heads, agents = unpack(KEYS)
local channel, me, token, agent = unpack(ARGV)

redis.call("DEL", draft) -- settles: must work when memory is full
local display, name = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local _, epoch = head_of(heads, channel)
local head = 0
for _, mark in ipairs(redis.call("HVALS", marks)) do
    local n, of = string.match(mark, "^(%d+) (%S+)$")
    if of == epoch then head = math.max(head, tonumber(n)) end
end
local kept, dropped = made_whole(stream, draft, head, function() return true end)
return {"ok", name, kept, dropped}
