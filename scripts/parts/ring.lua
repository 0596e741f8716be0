-- Wake whom a message is for, and keep what they now owe. `KEYS` from `at` on: bell and debts of each one named, in turn.
local function ring_named(at, channel, me, seq, named, shown)
    local heard = {}
    for i, who in ipairs(named) do
        local bell, owed = KEYS[at + 2 * (i - 1)], KEYS[at + 2 * i - 1]
        if redis.call("SPUBLISH", bell, "message " .. channel) > 0 then table.insert(heard, shown[i]) end
        local first, _, n = string.match(redis.call("HGET", owed, channel) or "", "^(%d+) (%d+) (%d+)$")
        if who ~= me then redis.call("HSET", owed, channel, table.concat({first or seq, seq, (tonumber(n) or 0) + 1}, " ")) end
    end
    return table.concat(heard, ",")
end

-- The last two such messages by different authors: enough to know, for any member, whether there is one that is not its own.
local function ring_everyone(room, everyone, channel, me, seq)
    local s1, f1, s2, f2 = string.match(redis.call("HGET", everyone, channel) or "", "^(%d+) (%S+) (%d+) (%S+)$")
    if f1 and f1 ~= me then s2, f2 = s1, f1 end
    redis.call("HSET", everyone, channel, table.concat({seq, me, s2 or 0, f2 or "-"}, " "))
    return redis.call("SPUBLISH", room, "message " .. channel)
end
