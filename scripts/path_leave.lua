-- Leave the line, or let go of what was offered; then the line is served. Whoever is in none changes nothing.
-- Replies: {"ok", left (0|1)} {"not_you", ...}
-- with: agent, speak, held, lock, line, way, survey, serve
local agents, held, order, owners, locks, line, requests, asked, asked_order, scratch = unpack(KEYS)
local me, token, door, request = unpack(ARGV)
-- then ARGV: paths

redis.call("DEL", scratch) -- settles: must work when memory is full
BOOK = {held = held, order = order, owners = owners, locks = locks, line = line, requests = requests, asked = asked, asked_order = asked_order, door = door}
local _, refusal = speak(agents, me, token)
if refusal then return refusal end
local left = redis.call("HEXISTS", requests, request)
if left == 1 then leave_line(request) end
for _, path in ipairs({unpack(ARGV, 5)}) do
    if #take_off(path, function(h) return h.request == request end) > 0 then left = 1 end
end
if left == 1 then serve() end
return {"ok", left}
