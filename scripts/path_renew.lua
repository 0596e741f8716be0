-- Keep locks that I hold: never shortened, tokens stay. One that ran out is renewed as long as nobody recovered it; `fence`: only if that is still its token.
-- `quiet` leaves no audit, unless one had run out: a program keeps what it works under, as hooks do.
-- Replies: {"ok", name, display, late_ms (-1: in time), then each (path, mode, token, lock id, expires_ms)} {"again", reply} {"other"} {"not_you", ...}
-- {"no_channel", channel} {"damaged", name} {"path_lock_owner_mismatch", name, target, holder, expires_ms} {"path_lock_not_found", name, target}
-- {"path_lock_stale_token", name, target, token, current, holder} {"path_lock_conflict", ...} (it ran out, and who stood in line is offered it)
-- with: request, agent, speak, head, stand, damage, audit, held, lock, refuse, mine, named
local agents, heads, audits, live, held, order, owners, locks, repos, scratch, idem = unpack(KEYS)
local channel, me, token, agent, keep_s, ttl, fence, all, quiet = unpack(ARGV)
-- then ARGV: target and path, in turn

redis.call("DEL", scratch) -- settles: must work when memory is full
BOOK = {held = held, order = order, owners = owners, locks = locks}
local what = asked_for(6)
local past = answered(idem, what)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local found, refusal
if all == "1" then found = all_of(me) else found, refusal = named(name, {unpack(ARGV, 10)}, me) end
if not found then return refusal end
if #found == 0 then return {"path_lock_not_found", name, "--all"} end

local late, ends = -1, NOW_MS + tonumber(ttl)
for _, h in ipairs(found) do
    if fence ~= "" and h.token ~= fence then return {"path_lock_stale_token", name, show(h.path), fence, h.token, me} end
    if h.ends <= NOW_MS then
        late = math.max(late, NOW_MS - h.ends)
        local other = in_the_way({h.path}, h.mode, me, "live")[1]
        if other then return conflict(name, other) end
    end
end
local ids, paths = by_lock(found)
for _, id in ipairs(quiet == "1" and late < 0 and {} or ids) do
    local facts = facts_on(repos, id, paths[id])
    for _, word in ipairs({"expires_at", ends}) do table.insert(facts, word) end
    local text = "renewed " .. listed(paths[id]) .. " for " .. seconds(tonumber(ttl))
    local noted, failure = audit(audits, live, name, head, display, "path.lock.renewed", id, text, facts)
    if not noted then return failure end
end
local reply = {"ok", name, display, late}
for _, h in ipairs(found) do
    local list = holders(h.path, redis.call("HGET", held, h.path))
    local mine = mine_of(list, me)
    mine.ends = math.max(mine.ends, ends)
    keep(h.path, list)
    add_lock(reply, mine)
end
for _, id in ipairs(ids) do
    local r = record_of(id)
    if r then r.updated = NOW_MS set_record(id, r) end
end
return keep_answer(idem, keep_s, what, reply)
