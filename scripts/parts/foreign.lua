-- Why somebody who does not hold a held task may not touch it; nil when nobody else holds it. Needs holder.lua.
local function foreign(t, name, me)
    if not held(t) or is_mine(t, me) then return nil end
    if lapsed(t) then return {"lease_recovery_required", name, t.id, t.owner, t.expires} end
    return {"lease_owner_mismatch", name, t.id, t.owner, t.expires}
end
