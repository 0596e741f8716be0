-- Check the indexes of a board against its records, and make them anew where they differ. Records that redischat did not write are named, not touched.
-- Replies: {"ok", name, tasks, mended (index, how many differed, in turn), damaged (ids)} {"not_you", ...} {"no_channel", channel}
-- with: agent, speak, head, stand, task, board, counter
local world, heads, agents, tasks, texts, links, ready, leases, leased, claims, scratch = unpack(KEYS)
local channel, me, token, agent = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local display, name = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local flat, count, highest, damaged, mended = redis.call("HGETALL", tasks), 0, 0, {}, {}
local found, linked = {}, {}
for i = 1, #flat, 2 do
    local t = task_of(flat[i + 1])
    if t and string.lower(t.id) == flat[i] then found[flat[i]], count, highest = t, count + 1, math.max(highest, t.token) else table.insert(damaged, flat[i]) end
end
local wants = {ready = {}, leases = {}, links = {}, leased = {}}
for id, t in pairs(found) do
    if t.status == "open" and unmet(tasks, parted(t.deps)) == "" then wants.ready[id] = score(t) end
    if t.expires > 0 then wants.leases[id], wants.leased[channel .. " " .. id] = t.expires, string.lower(t.owner) .. " " .. t.expires end
    for _, other in ipairs(parted(t.deps)) do
        linked[other] = linked[other] or {}
        table.insert(linked[other], {t.number, id})
    end
end
for id, list in pairs(linked) do
    table.sort(list, function(a, b) return a[1] < b[1] end)
    local ids = {}
    for i, pair in ipairs(list) do ids[i] = pair[2] end
    wants.links[id] = "," .. table.concat(ids, ",") .. ","
end

local function sorted(text) -- the order in which dependents came is nobody's promise
    local ids = parted(text)
    table.sort(ids)
    return table.concat(ids, ",")
end

local function mend(what, has, want, same, set, drop)
    local wrong = 0
    for field, value in pairs(want) do
        if not has[field] or not same(has[field], value) then
            set(field, value)
            wrong = wrong + 1
        end
    end
    for field in pairs(has) do
        if want[field] == nil then
            drop(field)
            wrong = wrong + 1
        end
    end
    if wrong > 0 then
        table.insert(mended, what)
        table.insert(mended, wrong)
    end
end

local function paired(list, only)
    local has = {}
    for i = 1, #list, 2 do if not only or string.sub(list[i], 1, #only) == only then has[list[i]] = list[i + 1] end end
    return has
end
for what, key in pairs({ready = ready, leases = leases}) do
    mend(what, paired(redis.call("ZRANGE", key, 0, -1, "WITHSCORES")), wants[what], function(a, b) return tonumber(a) == b end,
        function(id, value) redis.call("ZADD", key, value, id) end, function(id) redis.call("ZREM", key, id) end)
end
mend("links", paired(redis.call("HGETALL", links)), wants.links, function(a, b) return sorted(a) == sorted(b) end,
    function(id, value) redis.call("HSET", links, id, value) end, function(id) redis.call("HDEL", links, id) end)
mend("leased", paired(redis.call("HGETALL", leased), channel .. " "), wants.leased, function(a, b) return a == b end,
    function(id, value) redis.call("HSET", leased, id, value) end, function(id) redis.call("HDEL", leased, id) end)
local lost = 0
for _, field in ipairs(redis.call("HKEYS", texts)) do if not redis.call("HGET", tasks, string.match(field, "^%S+")) then lost = lost + redis.call("HDEL", texts, field) end end
if lost > 0 then table.insert(mended, "texts") table.insert(mended, lost) end
for _, claim in ipairs(redis.call("HKEYS", claims)) do
    local fence = string.match(redis.call("HGET", claims, claim), "^%S+ %S+ %d+ %d+ (%d+) ")
    if not fence then table.insert(damaged, "claim " .. claim) end
    highest = math.max(highest, tonumber(fence) or 0)
end
if raise_counter(world, highest) == 1 then table.insert(mended, "token") table.insert(mended, 1) end
return {"ok", name, count, mended, damaged}
