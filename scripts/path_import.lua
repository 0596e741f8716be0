-- Path locks from elsewhere, as they were, each whole or not at all: one whose paths somebody holds, or waits for, stays out. Fencing tokens are new; each
-- leaves an audit.
-- Replies: {"ok", name, stored, there (a,b: lock ids that stayed out)} {"again", reply} {"not_you", ...} {"no_channel", channel} {"damaged", name}
-- with: idem, agent, speak, head, stand, damage, audit, held, lock, told, line
local agents, heads, audits, live, meta, held, order, owners, locks, line, requests, asked, asked_order, repos, idem = unpack(KEYS)
local channel, me, token, agent, keep_s = unpack(ARGV)
-- then ARGV: lock id, owner, mode, expires, locked, updated, previous owner, its expires, reason, why it was recovered, repository, its key, paths (a line each), repeated
local FIRST, ROW = 6, 13

BOOK = {held = held, order = order, owners = owners, locks = locks, line = line, requests = requests, asked = asked, asked_order = asked_order}
local past = again(idem)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end

local function is_free(id, owner, mode, paths)
    if redis.call("HEXISTS", locks, id) == 1 or is_asked(paths) or #in_the_way(paths, mode, owner) > 0 then return false end
    for i, text in ipairs(redis.call("HMGET", held, unpack(paths))) do if mine_of(holders(paths[i], text), owner) then return false end end
    return true
end

local stored, there = 0, {}
for i = FIRST, #ARGV, ROW do
    local id, owner, mode, expires, locked, updated, before, ended, reason, why, repo, key, rows = unpack(ARGV, i, i + ROW - 1)
    local paths, mine = split(rows), string.lower(owner)
    if not is_free(id, mine, mode, paths) then table.insert(there, id)
    else
        local fence = (tonumber(redis.call("HGET", meta, "token")) or 0) + 1
        local facts = facts_of({id = id, key = key, mode = mode, reason = reason}, paths, fence, expires, {"owner", owner})
        local _, failure = audit(audits, live, name, head, display, "path.lock.imported", id, "imported " .. owner .. "'s lock on " .. listed(paths), facts)
        if failure then return failure end
        if stored == 0 then bear(agents, me, display, NOW_MS) end
        bear(agents, mine, owner)
        redis.call("HSET", meta, "token", fence)
        set_record(id, {owner = owner, channel = name, repo = repo, mode = mode, locked = locked, updated = updated, before = before, ended = ended,
                        reason = reason, why = why, paths = paths})
        redis.call("HSETNX", repos, repo, key)
        give(paths, {owner = mine, mode = mode, ends = tonumber(expires), token = fence, id = id, request = "-"})
        stored = stored + 1
    end
end
return remember(idem, keep_s, {"ok", name, stored, table.concat(there, ",")})
