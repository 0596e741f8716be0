-- One task by its id in lower case, or nil and the refusal. Needs task.lua.
local function load_task(tasks, name, id)
    local record = redis.call("HGET", tasks, id)
    if not record then return nil, {"task_not_found", name, id} end
    local t = task_of(record)
    if not t or string.lower(t.id) ~= id then return nil, {"task_invalid_record", name, id} end
    return t
end
