-- Let go of locks, also of ones that ran out: the audit, then they are gone and the line is served.
-- Replies: {"ok", name, display, then each (path, lock id)} {"again", reply} {"other"} {"not_you", ...} {"no_channel", channel} {"damaged", name}
-- {"path_lock_owner_mismatch", name, target, holder, expires_ms} {"path_lock_not_found", name, target}
-- with: request, agent, speak, head, stand, damage, audit, held, lock, mine, named, line, way, survey, serve
local agents, heads, audits, live, held, order, owners, locks, line, requests, asked, asked_order, repos, scratch, idem = unpack(KEYS)
local channel, me, token, agent, keep_s, door, all = unpack(ARGV)
-- then ARGV: target and path, in turn

redis.call("DEL", scratch) -- settles: must work when memory is full
BOOK = {held = held, order = order, owners = owners, locks = locks, line = line, requests = requests, asked = asked, asked_order = asked_order, door = door}
local what = asked_for(6)
local past = answered(idem, what)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local found, refusal
if all == "1" then found = all_of(me) else found, refusal = named(name, {unpack(ARGV, 8)}, me) end
if not found then return refusal end

local ids, paths = by_lock(found)
for _, id in ipairs(ids) do
    local noted, failure = audit(audits, live, name, head, display, "path.lock.unlocked", id, "unlocked " .. listed(paths[id]), facts_on(repos, id, paths[id]))
    if not noted then return failure end
end
local reply, freed = {"ok", name, display}, {}
for _, h in ipairs(found) do
    take_off(h.path, function(other) return other.owner == me and other.request == "-" end)
    for _, word in ipairs({h.path, h.id}) do table.insert(reply, word) end
    table.insert(freed, h.path)
end
if is_asked(freed) then serve() end
return keep_answer(idem, keep_s, what, reply)
