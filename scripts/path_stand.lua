-- Note down who waits for whom (kind from: an agent; task: whoever holds it), and say which circle that closes. One of held locks, line and tasks alone is
-- never waited out: nothing is noted down. The door must be listened at before: a wait with nobody at its door is over.
-- Replies: {"ok", circle or "", hard (0|1)} {"not_you", ...}
-- with: agent, speak, held, lock, line, way, survey, circle, serve
local agents, held, order, owners, locks, line, requests, asked, asked_order, waits, leased, scratch = unpack(KEYS)
local me, token, door, request, kind, target = unpack(ARGV)

redis.call("DEL", scratch) -- a wait must work when memory is full
BOOK = {held = held, order = order, owners = owners, locks = locks, line = line, requests = requests, asked = asked, asked_order = asked_order, waits = waits,
        leased = leased, door = door}
local _, refusal = speak(agents, me, token)
if refusal then return refusal end
local to, why = target, "wait --from"
if kind == "task" then to, why = holder_of(target), "task " .. target end
local function closes(soft)
    if not to then return nil end
    local rows, stuck = survey()
    return circle(rows, stuck, me, soft, to, why)
end
redis.call("HSET", waits, request, me .. " " .. kind .. " " .. target)
local found = closes(true)
if found and strike_out(request) then
    serve() -- whoever was struck out may have stood in somebody's way
    found = closes(true)
end
local hard = found and kind == "task" and closes(false)
if hard then
    redis.call("HDEL", waits, request)
    return {"ok", hard, 1}
end
return {"ok", found or "", 0}
