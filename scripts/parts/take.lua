-- Give somebody the paths it asked for and may have: the audits, then the locks, their record, the repository's name. Needs lock.lua, told.lua, audit.lua.
local MOST_HELD, MOST_TOLD = 2000, 64 -- locks of one owner; what was taken over, in a reply

-- Which of these paths are mine already, which are not; and since when (ms, -1: it is not so) one of mine had run out.
local function parted(paths, me)
    local kept, fresh, late = {}, {}, -1
    for i, text in ipairs(redis.call("HMGET", BOOK.held, unpack(paths))) do
        local mine = mine_of(holders(paths[i], text), me)
        if mine then
            table.insert(kept, mine)
            if mine.ends <= NOW_MS then late = math.max(late, NOW_MS - mine.ends) end
        else table.insert(fresh, paths[i]) end
    end
    return kept, fresh, late
end

-- One audit for each lock that ran out and is in the way, naming whose it was; then they are gone. Gives "path, owner, end" of the first; or nil and the refusal.
local function recover_lapsed(place, ask, token)
    local told, lapsed = {}, nil
    repeat
        lapsed = in_the_way(ask.paths, ask.mode, ask.me, "lapsed") -- page by page: a folder may hold any number
        for _, h in ipairs(lapsed) do
            local r = record_of(h.id) or {owner = h.owner}
            local text = "recovered " .. show(h.path) .. " from " .. r.owner .. ", whose lease ran out " .. seconds(NOW_MS - h.ends) .. " before: "
                .. ask.display .. " had asked for " .. listed(ask.paths)
            local more = {"previous_owner", r.owner, "previous_expires_at", h.ends, "recovery_reason", ask.why}
            local id, failure = audit(place.audits, place.live, place.name, place.head, ask.display, "path.lock.recovered", h.id, text,
                facts_of(ask, {h.path}, token, NOW_MS + ask.ttl, more))
            if not id then return nil, failure end
            if #told < 3 * MOST_TOLD then for _, word in ipairs({h.path, r.owner, h.ends}) do table.insert(told, word) end end
        end
        for _, h in ipairs(lapsed) do take_off(h.path, function(other) return other.owner == h.owner end) end
    until #lapsed == 0
    return told
end

local function touch(kept, reason) -- the records of what was mine already
    for _, mine in ipairs(kept) do
        local r = record_of(mine.id)
        if r then
            r.updated, r.reason = NOW_MS, reason ~= "" and reason or r.reason
            set_record(mine.id, r)
        end
    end
end

local function take(place, ask)
    local kept, fresh, late = parted(ask.paths, ask.me)
    local count = redis.call("ZLEXCOUNT", BOOK.owners, "[" .. ask.me .. " ", "(" .. ask.me .. "!")
    if #fresh > 0 and count + #fresh > MOST_HELD then return {"path_lock_too_many", place.name, count .. " locks are yours already", MOST_HELD} end
    local token = #fresh > 0 and (tonumber(redis.call("HGET", BOOK.meta, "token")) or 0) + 1 or tonumber(kept[1].token)
    local told, failure = recover_lapsed(place, ask, token)
    if not told then return failure end
    local how, ends, id = #fresh > 0 and "locked" or "renewed", NOW_MS + ask.ttl, #fresh > 0 and ask.id or kept[1].id
    id, failure = audit(place.audits, place.live, place.name, place.head, ask.display, how == "locked" and "path.locked" or "path.lock.renewed", id,
        how .. " " .. sentence(ask, ask.paths, token, late), facts_of(ask, ask.paths, token, ends))
    if not id then return failure end
    if #fresh > 0 then
        redis.call("HSET", BOOK.meta, "token", token)
        local r = {owner = ask.display, channel = place.name, repo = ask.repo, mode = ask.mode, locked = NOW_MS, updated = NOW_MS, before = "-", ended = 0,
                   reason = ask.reason, why = #told > 0 and ask.why or "", paths = fresh}
        if #told > 0 then r.before, r.ended = told[2], told[3] end
        set_record(ask.id, r)
    end
    touch(kept, ask.reason)
    redis.call("HSETNX", BOOK.repos, ask.repo, ask.key)
    give(ask.paths, {owner = ask.me, mode = ask.mode, ends = ends, token = token, id = ask.id, request = "-"})
    return told, how, late
end
