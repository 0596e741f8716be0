-- One snapshot of a board, or of some tasks with what they wait for and what waits for them. Writes nothing.
-- reads only
-- Replies: {"ok", now_ms, name, records, texts, missing}: hashes, flat; missing = those asked for that are not there. {"no_channel", channel}
-- with: head, task
local heads, tasks, texts, links = unpack(KEYS)
local channel = unpack(ARGV)
-- then ARGV: tasks
local TEXTS = {"title", "branch", "files", "acceptance", "reason", "result"}

local _, _, name = head_of(heads, channel)
if not name then return {"no_channel", channel} end
if #ARGV == 1 then return {"ok", NOW_MS, name, redis.call("HGETALL", tasks), redis.call("HGETALL", texts), {}} end
local records, said, missing, seen = {}, {}, {}, {}

local function add(id) -- with all that it waits for, however far: whether it can ever be started depends on that
    if seen[id] ~= nil then return seen[id] end
    local record = redis.call("HGET", tasks, id)
    seen[id] = record
    if not record then return false end
    table.insert(records, id)
    table.insert(records, record)
    local t = task_of(record)
    for _, other in ipairs(t and parted(t.deps) or {}) do add(other) end
    return record
end
for i = 2, #ARGV do
    if add(ARGV[i]) then
        for _, text in ipairs(TEXTS) do
            local value = redis.call("HGET", texts, ARGV[i] .. " " .. text)
            if value then
                table.insert(said, ARGV[i] .. " " .. text)
                table.insert(said, value)
            end
        end
        for _, other in ipairs(parted(redis.call("HGET", links, ARGV[i]) or "-")) do add(other) end
    else table.insert(missing, ARGV[i]) end
end
return {"ok", NOW_MS, name, records, said, missing}
