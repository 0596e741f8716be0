-- Lock paths: all of them or none. Or stand in line for them: the request is idempotency key, lock id, place in the line and doorbell in one; whoever listens
-- at its door asks again when it rings, and gets what it was offered. Mine already: renewed, with the token it had.
-- Replies: {"ok", locked|renewed, name, display, born (0|1), late_ms (-1: in time), n, n times (path, previous owner, its expires_ms) taken over, then each
-- (path, mode, token, lock id, expires_ms)} {"ok", "queued", name, position, look_again_ms, circle ("" or one that only `wait --from` closes)}
-- {"again", reply} {"not_you", ...} {"no_channel", channel} {"damaged", name} {"deadlock", circle} {"path_lock_line_full", name, most}
-- {"path_lock_conflict", name, path, asked, holder, mode, expires_ms, lock id, reason, in line (0|1)} {"path_lock_too_many", name, what, most}
-- {"path_lock_recovery_required", name, path, asked, holder, expires_ms, lock id, reason} {"path_lock_invalid_record", name, path}
-- with: idem, agent, speak, head, stand, damage, audit, held, lock, refuse, told, take, line, way, survey, circle, serve, enter
local agents, heads, audits, live, meta, held, order, owners, locks, line, requests, asked, asked_order, waits, leased, repos, idem = unpack(KEYS)
local channel, me, token, agent, keep_s, door, repo, key, mode, ttl, patience, id, reason, why = unpack(ARGV)
-- then ARGV: paths

BOOK = {held = held, order = order, owners = owners, locks = locks, line = line, requests = requests, asked = asked, asked_order = asked_order, waits = waits,
        leased = leased, meta = meta, repos = repos, door = door}
local past = again(idem)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local paths = {unpack(ARGV, 15)}
local place = {name = name, head = head, audits = audits, live = live}
local ask = {me = me, display = display, paths = paths, mode = mode, ttl = tonumber(ttl), id = id, repo = repo, key = key, reason = reason, why = why}

local function taken(crowded)
    local told, how, late = take(place, ask)
    if not how then return told end
    local born = bear(agents, me, agent, NOW_MS)
    local reply = {"ok", how, name, display, born, late, #told / 3, unpack(told)}
    for i, text in ipairs(redis.call("HMGET", held, unpack(paths))) do
        add_lock(reply, mine_of(holders(paths[i], text), me))
    end
    if crowded then serve() end
    return remember(idem, keep_s, reply)
end

local offered = 0
for i, text in ipairs(redis.call("HMGET", held, unpack(paths))) do
    for _, h in ipairs(holders(paths[i], text)) do if h.request == id then offered = offered + 1 end end
end
if offered == #paths then return taken(true) end -- the ring was heard: the offer becomes a lock
local known, crowded, obstacles = redis.call("HEXISTS", requests, id) == 1, is_asked(paths), in_the_way(paths, mode, me)
if BOOK.broken then return {"path_lock_invalid_record", name, show(BOOK.broken)} end -- whose it is nobody can tell: not free
if not known and not crowded and #obstacles == 0 then return taken(false) end -- nobody holds it, nobody waits for it

local mine = {request = id, owner = me, name = display, mode = mode, paths = paths, reason = reason}
local rows, stuck = survey(mine)
if #mine.ahead > 0 and strike_out(id) then -- whoever is gone stands in nobody's way
    serve()
    rows, stuck = survey(mine)
end
local lapsed = patience == "" and in_the_way(paths, mode, me, "lapsed")[1]
if #mine.held == 0 then
    if lapsed then
        local r = record_of(lapsed.id) or {owner = lapsed.owner, reason = ""}
        return {"path_lock_recovery_required", name, show(lapsed.path), show(lapsed.asked), r.owner, lapsed.ends, lapsed.id, r.reason}
    end
    if #mine.ahead == 0 then
        if known then leave_line(id) end
        return taken(true)
    end
end
if patience ~= "wait" then return mine.held[1] and conflict(name, mine.held[1]) or in_line(name, mine.ahead[1]) end
return enter(place, mine, known, rows, stuck)
