-- Make a stream whole: what redischat numbered (0-<n>), as far as `ours(fields)` says so, is copied to a new stream that takes the old one's place. Numbers never
-- change and go on behind `head`, also where the newest were trimmed. Gives how many entries were kept, how many dropped, where it ends. Needs head.lua.
local function made_whole(stream, draft, head, ours)
    local STEP = 1000
    local kept, at, last = 0, "0-0", 0
    repeat
        local step = redis.call("XRANGE", stream, "(" .. at, "0-" .. LAST_NUMBER, "COUNT", STEP)
        for _, row in ipairs(step) do
            at = row[1]
            if ours(row[2]) then
                redis.call("XADD", draft, at, unpack(row[2]))
                kept, last = kept + 1, tonumber(string.sub(at, 3))
            end
        end
    until #step < STEP
    if last < head then -- the number goes on where it was
        redis.call("XADD", draft, "0-" .. head, "x", "")
        redis.call("XDEL", draft, "0-" .. head)
    end
    local dropped = redis.call("XLEN", stream) - kept
    if redis.call("EXISTS", draft) == 1 then redis.call("RENAME", draft, stream) else redis.call("DEL", stream) end
    return kept, dropped, math.max(head, last)
end
