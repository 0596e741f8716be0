-- Take a task under a lease (claim), keep one that I hold (renew), or take over one whose lease ran out (recover). The same holder again is a renewal and
-- keeps its token, also after its lease ran out, as long as nobody recovered it. Doing it twice does it once. keep: renew, and leave an audit only if it had run out.
-- Replies: {"ok", claimed|renewed|recovered, name, id, token, expires_ms, attempt, late_ms (-1: in time), previous owner, its expires_ms, file hints}
-- {"again", reply} (of a recovery: to recover what is mine by now would be refused)
-- {"not_you", ...} {"no_channel", channel} {"damaged", name} {"task_not_found", name, id} {"task_invalid_record", name, id}
-- {"task_invalid_transition", name, id, status, to} {"task_dependency_not_ready", name, id, waits for}
-- {"lease_conflict", name, id, holder, expires_ms, assigned (0|1)} {"lease_recovery_required", name, id, holder, expires_ms}
-- {"lease_owner_mismatch", name, id, holder, expires_ms} {"lease_not_expired", name, id, holder, expires_ms} {"lease_not_found", name, id, status}
-- {"lease_stale_token", name, id, token, current, holder}
-- with: idem, agent, speak, head, stand, damage, audit, task, load, board, holder, foreign, fence, lease
local world, heads, agents, tasks, texts, ready, leases, leased, audits, idem, live, scratch = unpack(KEYS)
local channel, me, token, agent, keep, id, want, ttl, fence, steal, reason = unpack(ARGV)
local keys = {world = world, tasks = tasks, texts = texts, ready = ready, leases = leases, leased = leased, audits = audits, live = live}

redis.call("DEL", scratch) -- settles: must work when memory is full
local past = again(idem)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local t, refusal = load_task(tasks, name, id)
if not t then return refusal end
local place = {name = name, head = head, channel = channel, quiet = want == "keep"}

local function taken(how)
    local reply = give(keys, place, id, t, display, tonumber(ttl), how, reason)
    if reply[1] ~= "ok" then return reply end
    bear(agents, me, display, NOW_MS)
    return how == "recovered" and remember(idem, keep, reply) or reply
end
local old = outdated(t, name, fence)
if old then return old end
if want == "renew" or want == "keep" then
    if not held(t) then return {"lease_not_found", name, t.id, t.status} end
    return foreign(t, name, me) or taken("renewed")
end
if want == "recover" then
    if not held(t) then return {"lease_not_found", name, t.id, t.status} end
    if not lapsed(t) then return {"lease_not_expired", name, t.id, t.owner, t.expires} end
    return taken("recovered")
end
if held(t) then
    if is_mine(t, me) then
        ttl = math.max(tonumber(ttl), t.expires - NOW_MS) -- to say it again never shortens; renew may
        return taken("renewed")
    end
    if not lapsed(t) then return {"lease_conflict", name, t.id, t.owner, t.expires, 0} end
    if steal ~= "1" then return {"lease_recovery_required", name, t.id, t.owner, t.expires} end
    return taken("recovered")
end
if t.status ~= "in_progress" and not goes(t.status, "in_progress") then return {"task_invalid_transition", name, t.id, t.status, "in_progress"} end
if t.owner ~= "-" and not is_mine(t, me) then return {"lease_conflict", name, t.id, t.owner, 0, 1} end
local waits = unmet(tasks, parted(t.deps))
if waits ~= "" then return {"task_dependency_not_ready", name, t.id, waits} end
return taken("claimed")
