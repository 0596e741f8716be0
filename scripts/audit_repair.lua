-- Make a channel's audits whole: what redischat left behind a message that there is is copied to a new stream that takes the old one's place; what a
-- stranger's raw XADD put in ends. Numbers never change.
-- Replies: {"ok", name, kept, dropped} {"not_you", ...} {"no_channel", channel}
-- with: agent, speak, head, stand
local stream, draft, heads, agents = unpack(KEYS)
local channel, me, token, agent = unpack(ARGV)
local STEP = 1000

redis.call("DEL", draft) -- settles: must work when memory is full
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local kept, at = 0, "-"
repeat
    local step = redis.call("XRANGE", stream, at, head .. "-18446744073709551615", "COUNT", STEP)
    for _, row in ipairs(step) do
        at = "(" .. row[1]
        if row[2][1] == "f" and row[2][4] == "a" and row[2][11] == "b" then
            redis.call("XADD", draft, row[1], unpack(row[2]))
            kept = kept + 1
        end
    end
until #step < STEP
local dropped = redis.call("XLEN", stream) - kept
if dropped > 0 and redis.call("EXISTS", draft) == 1 then redis.call("RENAME", draft, stream)
elseif dropped > 0 then redis.call("DEL", stream)
else redis.call("DEL", draft) end
return {"ok", name, kept, dropped}
