-- Hold locks, line and their indexes against each other: what can be derived is mended, what is no record of redischat is dropped, who does not listen
-- any more leaves the line. Then the line is served.
-- Replies: {"ok", locks, waiting, mended, dropped, names struck out of the line} {"not_you", ...}
-- with: agent, speak, held, lock, line, way, survey, serve, counter
local agents, meta, held, order, owners, locks, line, requests, asked, asked_order, waits, scratch = unpack(KEYS)
local me, token, door, channel = unpack(ARGV)
local mended, dropped = 0, 0

redis.call("DEL", scratch) -- settles: must work when memory is full
BOOK = {held = held, order = order, owners = owners, locks = locks, line = line, requests = requests, asked = asked, asked_order = asked_order, waits = waits,
        door = door}
local display, refusal = speak(agents, me, token)
if not display then return refusal end

local function index(key, wanted) -- a zset by letters holds these members and no others
    for _, member in ipairs(redis.call("ZRANGE", key, 0, -1)) do
        if wanted[member] then wanted[member] = nil
        else mended = mended + redis.call("ZREM", key, member) end
    end
    for member in pairs(wanted) do mended = mended + redis.call("ZADD", key, 0, member) end
end

local paths, people, of_lock, count, highest, struck = {}, {}, {}, 0, 0, {}
local everything = redis.call("HGETALL", held)
for i = 1, #everything, 2 do
    local path, list = everything[i], holders(everything[i], everything[i + 1])
    local lost = #split(everything[i + 1]) - #list
    if lost > 0 then
        dropped = dropped + lost
        keep(path, list)
    end
    for _, h in ipairs(list) do
        paths[path], people[h.owner .. " " .. path], highest = true, true, math.max(highest, tonumber(h.token))
        if h.request == "-" then
            of_lock[h.id] = of_lock[h.id] or {first = h, paths = {}}
            table.insert(of_lock[h.id].paths, path)
        end
    end
end
index(order, paths)
index(owners, people)
for _, id in ipairs(redis.call("HKEYS", locks)) do
    if not of_lock[id] then dropped = dropped + redis.call("HDEL", locks, id) end
end
for id, found in pairs(of_lock) do
    local r, first = record_of(id), found.first
    count = count + 1
    if not r or #r.paths ~= #found.paths then
        local repo = string.match(first.path, "^[^/]*")
        r = r or {owner = first.owner, channel = channel, repo = repo, mode = first.mode, locked = NOW_MS, updated = NOW_MS, before = "-", ended = 0, reason = "", why = ""}
        r.paths, mended = found.paths, mended + 1
        set_record(id, r)
    end
end
for _, request in ipairs(redis.call("ZRANGE", line, 0, -1)) do
    if redis.call("HEXISTS", requests, request) == 0 then dropped = dropped + redis.call("ZREM", line, request) end
end
local wanted = {}
for _, request in ipairs(redis.call("HKEYS", requests)) do
    if not redis.call("ZSCORE", line, request) then dropped = dropped + redis.call("HDEL", requests, request)
    else for _, path in ipairs(request_of(request).paths) do wanted[path] = (wanted[path] or 0) + 1 end end
end
for path, times in pairs(wanted) do if tonumber(redis.call("HGET", asked, path) or 0) ~= times then mended = mended + 1 end end
for _, path in ipairs(redis.call("HKEYS", asked)) do if not wanted[path] then mended = mended + 1 end end
redis.call("DEL", asked, asked_order)
for path, times in pairs(wanted) do redis.call("HSET", asked, path, times) redis.call("ZADD", asked_order, 0, path) end
mended = mended + raise_counter(meta, highest)
for _, request in ipairs(deaf(redis.call("ZRANGE", line, 0, -1))) do table.insert(struck, request_of(request).name) end
strike_out("-")
serve()
return {"ok", count, redis.call("ZCARD", line), mended, dropped, struck}
