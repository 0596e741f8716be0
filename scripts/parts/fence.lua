-- A fencing token that is not the task's any more: somebody was given it since. Needs holder.lua.
local function outdated(t, name, fence)
    if fence == "" or tonumber(fence) == t.token then return nil end
    return {"lease_stale_token", name, t.id, fence, t.token, held(t) and t.owner or ""}
end
