-- What is told to one whose way a lock is in. Needs held.lua, lock.lua.
local function mode_of(mode) return mode == "s" and "shared" or "exclusive" end

local function conflict(name, h)
    local r = record_of(h.id) or {owner = h.owner, reason = ""}
    return {"path_lock_conflict", name, show(h.path), show(h.asked), r.owner, mode_of(h.mode), h.ends, h.id, r.reason, 0}
end
