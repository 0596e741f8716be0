-- Tell in a channel what a harness can do or how it is: numbered, stored and rung in one step. It wakes nobody, is unread for nobody and counts for no
-- cap; members or not, open or closed.
-- Replies: {"ok", n, ts_ms, name, display} {"again", reply} {"other", n} (this key, another event) {"not_you", ...} {"no_channel", channel} {"damaged", name}
-- with: idem, said, agent, speak, head, stand, entry, damage, append
local stream, heads, agents, idem, live = unpack(KEYS)
local channel, me, token, agent, keep, kind, body = unpack(ARGV)

local past = said_before(idem, stream, body)
if past then return past end
local display, name = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local n, failure = append(stream, "0-*", name, entry_of(display, "e", "-", now_us(), body, "", "", "", "event:" .. kind, "event." .. kind))
if failure then return failure end
bear(agents, me, display, NOW_MS)
redis.call("SPUBLISH", live, "event " .. n)
return remember(idem, keep, {"ok", n, NOW_MS, name, display})
