-- Which locks are meant: a lock's id names all of its paths, a path the lock on exactly that one. Needs held.lua, lock.lua, mine.lua.
-- The owner's locks that (target, path) pairs name, each once; or nil and the refusal.
local function named(name, pairs_, owner)
    local found, seen = {}, {}
    local function add(h)
        if seen[h.path] then return end
        seen[h.path] = true
        table.insert(found, h)
    end
    for i = 1, #pairs_, 2 do
        local target, path = pairs_[i], pairs_[i + 1]
        local r = record_of(target)
        for _, one in ipairs(r and r.paths or {path}) do
            local list = holders(one, redis.call("HGET", BOOK.held, one))
            local mine, other = mine_of(list, owner), on(one, r and target or nil)
            if mine and (not r or mine.id == target) then add(mine)
            elseif other then
                local theirs = record_of(other.id) or {owner = other.owner}
                return nil, {"path_lock_owner_mismatch", name, r and target or show(one), theirs.owner, other.ends}
            else return nil, {"path_lock_not_found", name, target} end
        end
    end
    return found
end
