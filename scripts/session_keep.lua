-- Keep what an agent holds while it works: of its locks and task leases, those with less than `left` ms to go end `ttl` ms from now. Quietly: it leaves no
-- audit. What has run out stays as it is: others may have planned with that already.
-- Replies: {"ok", locked paths kept, tasks kept} {"not_you", ...}
-- with: agent, speak, held, lock, mine, task
local agents, held, order, owners, leased, scratch = unpack(KEYS)
-- then KEYS: tasks and leases of the channel of each of its tasks, in turn
local me, token, agent, left, ttl = unpack(ARGV)
-- then ARGV: channel and task, in turn

redis.call("DEL", scratch) -- settles: must work when memory is full
BOOK = {held = held, order = order, owners = owners}
local display, refusal = speak(agents, me, token, agent)
if not display then return refusal end
local ends, paths, tasks = NOW_MS + tonumber(ttl), 0, 0

local function due(at) return at > NOW_MS and at - NOW_MS < tonumber(left) end

for _, h in ipairs(all_of(me)) do
    if due(h.ends) then
        local list = holders(h.path, redis.call("HGET", held, h.path))
        mine_of(list, me).ends = ends
        keep(h.path, list)
        paths = paths + 1
    end
end
for i = 6, #ARGV, 2 do
    local channel, id = ARGV[i], ARGV[i + 1]
    local records, leases = KEYS[i + 1], KEYS[i + 2]
    local t = task_of(redis.call("HGET", records, id))
    if t and string.lower(t.owner) == me and due(t.expires) then
        t.expires = ends
        redis.call("HSET", records, id, task_text(t))
        redis.call("ZADD", leases, ends, id)
        redis.call("HSET", leased, channel .. " " .. id, me .. " " .. ends)
        tasks = tasks + 1
    end
end
return {"ok", paths, tasks}
