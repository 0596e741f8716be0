-- Make an agent a member. Record: "display in since" or "display left since heard read maybe": whoever comes back finds its marks where
-- they were, and so does one whose record was lost.
-- Gives new | again | already. Needs head.lua, mark.lua, speak.lua.
local function join(members, agents, meta, heads, marks, bell, channel, me, display, at)
    local head, epoch = head_of(heads, channel)
    local written, state, _, heard, read, maybe = string.match(redis.call("HGET", members, me) or "", "^(%S+) (%S+) (%d+) ?(%d*) ?(%d*) ?(%d*)$")
    local kept = load_mark(marks, channel)
    if kept and kept.epoch ~= epoch then kept = nil end
    if state == "in" and kept then return "already" end
    local mark = kept or new_mark(epoch, math.min(tonumber(at) or head, head))
    if state == "in" then -- its mark was lost: all comes again, as perhaps shown before
        mark = new_mark(epoch, math.min(tonumber(at) or 0, head))
        mark.maybe = head
    elseif state == "left" then mark.heard, mark.read, mark.maybe = tonumber(heard), tonumber(read), tonumber(maybe) end
    redis.call("HSET", members, me, table.concat({written or display, "in", NOW_MS}, " "))
    if state ~= "in" and not kept then redis.call("HINCRBY", meta, "count", 1) end
    redis.call("HSET", marks, channel, mark_text(mark))
    bear(agents, me, display)
    redis.call("SPUBLISH", bell, "rooms")
    return state == "left" and "again" or "new"
end
