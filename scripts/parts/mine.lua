-- Which locks are whose, and what is said of one. Needs held.lua, lock.lua.
local function on(path, id)
    for _, h in ipairs(holders(path, redis.call("HGET", BOOK.held, path))) do if h.request == "-" and (not id or h.id == id) then return h end end
end

local function all_of(owner)
    local found = {}
    for _, row in ipairs(redis.call("ZRANGEBYLEX", BOOK.owners, "[" .. owner .. " ", "(" .. owner .. "!")) do
        local path = string.sub(row, #owner + 2)
        local mine = mine_of(holders(path, redis.call("HGET", BOOK.held, path)), owner)
        if mine then table.insert(found, mine) end
    end
    return found
end

local function by_lock(found) -- lock id -> its paths among these, in the order they came
    local order, paths = {}, {}
    for _, h in ipairs(found) do
        if not paths[h.id] then
            paths[h.id] = {}
            table.insert(order, h.id)
        end
        table.insert(paths[h.id], h.path)
    end
    return order, paths
end

-- What an audit of one lock's paths begins with.
local function facts_on(repos, id, paths)
    local shown, repo = {}, string.match(paths[1], "^[^/]*")
    for i, path in ipairs(paths) do shown[i] = show(path) end
    local facts = {"lock_id", id, "repository", redis.call("HGET", repos, repo) or repo, "paths", table.concat(shown, "\n")}
    return facts
end
