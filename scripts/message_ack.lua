-- Say what was really shown. Marks only rise; the lease ends if it is still mine; a `to` of 0 gives it back unshown. An ack after the lease lapsed
-- counts: it was shown. Repeating an ack changes nothing. The end of a lease rings its agent's bell: another reader of its may be waiting for that.
-- Replies: {"ok", rows}; a row is {channel, name, word, ...}: "ok", heard, read, heard before, read before | "gone" (I left) | "stale" (an earlier
-- channel of that name) | "beyond", head (no such seq yet: nothing changed). {"not_you", ...}
-- with: agent, speak, head, mark
local heads, marks, agents, scratch, bell = unpack(KEYS)
local me, token, lease = unpack(ARGV)
-- then ARGV: channel, epoch ("" = whichever it is), which marks (both|heard), to, maybe (a broken pipe may have shown up to there), repeated

redis.call("DEL", scratch) -- settles: must work when memory is full
local _, refusal = speak(agents, me, token)
if refusal then return refusal end
local rows, ended = {}, false
for i = 4, #ARGV, 5 do
    local channel, of, which, to = ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
    local head, epoch, name = head_of(heads, channel)
    local mark = load_mark(marks, channel)
    if not head or not mark or mark.epoch ~= epoch then table.insert(rows, {channel, name or channel, "gone"})
    elseif of ~= "" and of ~= epoch then table.insert(rows, {channel, name, "stale"})
    elseif to > head then table.insert(rows, {channel, name, "beyond", head})
    else
        local heard, read = mark.heard, mark.read
        if mark.lease == lease and lease ~= "-" then unlease(mark) ended = true end
        mark.maybe = math.max(mark.maybe, tonumber(ARGV[i + 4]))
        mark.heard = math.max(heard, to)
        if which == "both" then mark.read = math.max(read, to) end
        redis.call("HSET", marks, channel, mark_text(mark))
        table.insert(rows, {channel, name, "ok", mark.heard, mark.read, heard, read})
    end
end
if ended then redis.call("SPUBLISH", bell, "settled") end
return {"ok", rows}
