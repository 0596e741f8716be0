-- Giving a task to an agent, and taking it back. Needs task.lua, board.lua, holder.lua, audit.lua.
-- Give a task to an agent (how: claimed, renewed, recovered), with what it leaves behind: nothing, where one in time is renewed quietly (place.quiet).
-- A new holder gets a new token. Gives the reply.
local function give(keys, place, id, t, display, ttl, how, reason)
    local before, ended = t.owner, t.expires
    local late, token = lapsed(t) and NOW_MS - ended or -1, t.token
    if how ~= "renewed" then token = (tonumber(redis.call("HGET", keys.world, "token")) or 0) + 1 end
    local attempt = t.attempt + ((how == "recovered" and string.lower(before) ~= string.lower(display)) and 1 or 0)
    local text = how .. " " .. t.id
    if how == "recovered" then text = text .. " from " .. before .. ", whose lease ran out " .. seconds(late) .. " before: " .. reason .. ";" end
    text = text .. " for " .. seconds(ttl) .. " (token " .. token .. ", attempt " .. attempt .. ")"
    if how == "renewed" and late >= 0 then text = text .. ", " .. seconds(late) .. " after it had run out" end
    local facts = {"task", t.id, "status", "in_progress", "owner", display, "token", token, "lease_expires_at", NOW_MS + ttl, "attempt", attempt}
    if how == "recovered" then for _, word in ipairs({"previous_owner", before, "previous_lease_expires_at", ended, "recovery_reason", reason}) do table.insert(facts, word) end end
    local silent, _, failure = place.quiet and how == "renewed" and late < 0, nil, nil
    if not silent then _, failure = audit(keys.audits, keys.live, place.name, place.head, display, "lease." .. how, t.id, text, facts) end
    if failure then return failure end
    if how == "recovered" then
        t.before, t.before_expires = before, ended
        redis.call("HSET", keys.texts, id .. " reason", reason)
    end
    if how == "claimed" then redis.call("HDEL", keys.texts, id .. " reason") end -- why it was blocked is over
    if how ~= "renewed" then
        redis.call("HSET", keys.world, "token", token)
        t.claimed = NOW_MS
    end
    t.status, t.owner, t.token, t.attempt, t.expires, t.updated, t.lapsed = "in_progress", display, token, attempt, NOW_MS + ttl, NOW_MS, "-"
    keep_task(keys.tasks, keys.ready, id, t)
    redis.call("ZADD", keys.leases, t.expires, id)
    redis.call("HSET", keys.leased, place.channel .. " " .. id, string.lower(display) .. " " .. t.expires)
    local hints = redis.call("HGET", keys.texts, id .. " files") or "[]"
    return {"ok", how, place.name, t.id, token, t.expires, attempt, late, how == "recovered" and before or "", how == "recovered" and ended or 0, hints}
end

local function let_go(keys, channel, id, t)
    t.owner, t.expires, t.lapsed = "-", 0, "-"
    redis.call("ZREM", keys.leases, id)
    redis.call("HDEL", keys.leased, channel .. " " .. id)
end
