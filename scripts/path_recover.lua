-- Take over a lock that ran out, by name and with a reason: it keeps its id, its new holder gets a new token; the audit names whose it was.
-- Replies: {"ok", name, display, born (0|1), lock id, previous owner, its expires_ms, then each (path, mode, token, lock id, expires_ms)} {"again", reply} {"other"}
-- {"not_you", ...} {"no_channel", channel} {"damaged", name} {"path_lock_not_found", name, target} {"path_lock_not_stale", name, target, holder, expires_ms}
-- {"path_lock_conflict", name, path, asked, holder, mode, expires_ms, lock id, reason, in line (0|1)}
-- with: request, agent, speak, head, stand, damage, audit, held, lock, refuse, mine, told, line, way, survey, serve
local agents, heads, audits, live, meta, held, order, owners, locks, line, requests, asked, asked_order, repos, scratch, idem = unpack(KEYS)
local channel, me, token, agent, keep_s, door, target, path, ttl, reason = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
BOOK = {held = held, order = order, owners = owners, locks = locks, line = line, requests = requests, asked = asked, asked_order = asked_order, door = door}
local what = asked_for(6)
local past = answered(idem, what)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
serve() -- who stood in line for it comes first
local function lapsed_on(place) -- the lock on a path that can be recovered, else any
    local any
    for _, h in ipairs(holders(place, redis.call("HGET", held, place))) do
        if h.request == "-" then
            if h.ends <= NOW_MS then return h end
            any = any or h
        end
    end
    return any
end
local by_id = record_of(target)
local one = by_id and on(by_id.paths[1], target) or lapsed_on(path)
local r = one and record_of(one.id)
if not r then return {"path_lock_not_found", name, target} end
local last = one.ends -- a lock passes on whole: one path of it may have been renewed alone, and is its holder's
for _, place in ipairs(r.paths) do last = math.max(last, (on(place, one.id) or one).ends) end
if last > NOW_MS then return {"path_lock_not_stale", name, by_id and target or show(path), r.owner, last} end
local other = in_the_way(r.paths, one.mode, me, "live")[1]
if other then return conflict(name, other) end

local fresh, ends = (tonumber(redis.call("HGET", meta, "token")) or 0) + 1, NOW_MS + tonumber(ttl)
local ask = {id = one.id, key = redis.call("HGET", repos, r.repo) or r.repo, mode = one.mode, reason = r.reason}
local text = "recovered " .. listed(r.paths) .. " from " .. r.owner .. ", whose lease ran out " .. seconds(NOW_MS - one.ends) .. " before, for " .. seconds(tonumber(ttl))
    .. " (token " .. fresh .. "): " .. reason
local more = {"previous_owner", r.owner, "previous_expires_at", one.ends, "recovery_reason", reason}
local noted, failure = audit(audits, live, name, head, display, "path.lock.recovered", one.id, text, facts_of(ask, r.paths, fresh, ends, more))
if not noted then return failure end
redis.call("HSET", meta, "token", fresh)
local born = bear(agents, me, agent, NOW_MS)
for _, place in ipairs(r.paths) do take_off(place, function(h) return h.id == one.id and h.request == "-" end) end
give(r.paths, {owner = me, mode = one.mode, ends = ends, token = fresh, id = one.id, request = "-"})
local reply, kept = {"ok", name, display, born, one.id, r.owner, one.ends}, {}
for i, row in ipairs(redis.call("HMGET", held, unpack(r.paths))) do
    local mine = mine_of(holders(r.paths[i], row), me)
    if mine.id == one.id then table.insert(kept, mine.path) end -- where I had a lock to read as well, that one goes on
    add_lock(reply, mine)
end
r.before, r.ended, r.owner, r.why, r.channel, r.locked, r.updated, r.paths = r.owner, one.ends, display, reason, name, NOW_MS, NOW_MS, kept
set_record(one.id, r)
return keep_answer(idem, keep_s, what, reply)
