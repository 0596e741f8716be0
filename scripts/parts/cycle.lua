-- Would a task that depends on `deps` depend on itself? Gives the way round, as people read it, or nil. Needs task.lua.
local function cycle(tasks, id, shown, deps)
    local seen, way = {}, {}

    local function back(at)
        if at == id then return true end
        if seen[at] then return false end
        seen[at] = true
        local t = task_of(redis.call("HGET", tasks, at) or "")
        for _, other in ipairs(t and parted(t.deps) or {}) do
            if back(other) then
                table.insert(way, 1, t.id)
                return true
            end
        end
        return false
    end
    for _, other in ipairs(deps) do
        if back(other) then
            table.insert(way, 1, shown)
            if way[#way] ~= shown or #way == 1 then table.insert(way, shown) end
            return table.concat(way, " -> ")
        end
    end
end
