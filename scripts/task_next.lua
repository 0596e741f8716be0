-- The best task that can be started now, by priority, then age: one that is ready and meant for nobody else, or one whose lease ran out. With `claim` it
-- is taken in the same step, so that each caller gets another one; one that ran out is recovered, and the audit names whose it was.
-- Replies: as task_claim gives it {"ok", how, ...}; without claim {"ok", "next", name, id} {"again", reply} {"not_you", ...} {"no_channel", channel}
-- {"damaged", name} {"nothing_ready", name}
-- with: idem, agent, speak, head, stand, damage, audit, task, board, holder, lease
local world, heads, agents, tasks, texts, ready, leases, leased, audits, idem, live, scratch = unpack(KEYS)
local channel, me, token, agent, keep, claim, ttl, reason = unpack(ARGV)
local keys = {world = world, tasks = tasks, texts = texts, ready = ready, leases = leases, leased = leased, audits = audits, live = live}
local STEP = 20

redis.call("DEL", scratch) -- settles: must work when memory is full
local past = again(idem)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local best, found, at = nil, nil, 0

local function better(id, t)
    if t and (not best or score(t) < score(best)) then best, found = t, id end
end
repeat -- those before may all be meant for others
    local ids = redis.call("ZRANGE", ready, at, at + STEP - 1)
    for i, record in ipairs(#ids > 0 and redis.call("HMGET", tasks, unpack(ids)) or {}) do
        local t = not best and task_of(record or "") -- the first one that is not meant for somebody else
        if t and (t.owner == "-" or is_mine(t, me)) then better(ids[i], t) end
    end
    at = at + STEP
until best or #ids < STEP
for _, id in ipairs(redis.call("ZRANGEBYSCORE", leases, 1, NOW_MS, "LIMIT", 0, 1000)) do
    local t = task_of(redis.call("HGET", tasks, id) or "")
    if t and unmet(tasks, parted(t.deps)) == "" then better(id, t) end -- what it was begun on may have been reopened since
end
if not best then return {"nothing_ready", name} end
if claim ~= "1" then return {"ok", "next", name, best.id} end
local how = not held(best) and "claimed" or is_mine(best, me) and "renewed" or "recovered"
local reply = give(keys, {name = name, head = head, channel = channel}, found, best, display, tonumber(ttl), how, reason)
if reply[1] ~= "ok" then return reply end
bear(agents, me, display, NOW_MS)
return remember(idem, keep, reply)
