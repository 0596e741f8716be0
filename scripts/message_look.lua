-- Is there something for me to be woken by? Takes nothing, changes nothing, may be asked as often as one likes.
-- which: wakes (what wakes me; a channel's end counts), rings (the same, but for what is over a budget) or any (every message of somebody else). from, reply_to: only such a one counts ("" = all).
-- reads only
-- Replies: {"ok", now_ms, rows}; a row is {channel, name, word, ...}: "news" | "quiet", seen (looked up to here: no need to look there again) |
-- "on", seen (nothing so far, look on from here) | "busy", until_ms (another reader of mine is showing this) | "not_member".
-- with: head, mark, news
local heads, marks = unpack(KEYS)
-- then KEYS: streams
local me, which, from, reply_to = unpack(ARGV)
-- then ARGV: channel, position (looked up to there before), repeated
local SCAN, STEP = 1000, 100

local function given(entry, field)
    for i = BODY + 1, #entry, 2 do if entry[i] == field then return entry[i + 1] end end
end

local function counts(entry, seq, mark)
    if known(entry, seq, me, mark.heard) then return false end
    if entry[KIND] == "n" and given(entry, "s") == "closed" then return true end
    if which ~= "any" and not wakes(entry, me) or which == "rings" and entry[BIG] == "2" then return false end
    if from ~= "" and string.lower(entry[FROM]) ~= from then return false end
    return reply_to == "" or given(entry, "r") == reply_to
end

local function look(stream, mark, at, head)
    local looked = 0
    repeat
        local step = redis.call("XRANGE", stream, "(0-" .. at, "0-" .. head, "COUNT", STEP) -- no further: what strangers put behind it is no news
        for _, row in ipairs(step) do
            at, looked = tonumber(string.sub(row[1], 3)), looked + 1
            if counts(row[2], at, mark) then return "news", at end
        end
    until #step < STEP or looked >= SCAN
    return at < head and looked >= SCAN and "on" or "quiet", at
end

local rows = {}
for i = 5, #ARGV, 2 do
    local channel = ARGV[i]
    local head, epoch, name = head_of(heads, channel)
    local mark = load_mark(marks, channel)
    if not head or not mark or mark.epoch ~= epoch then table.insert(rows, {channel, name or channel, "not_member"})
    else
        local at = math.max(mark.read, tonumber(ARGV[i + 1]))
        local word, seen = "quiet", at
        if head > at then word, seen = look(KEYS[2 + (i - 3) / 2], mark, at, head) end
        if word == "news" and mark.lease ~= "-" and mark.ends > NOW_MS then word, seen = "busy", mark.ends end
        table.insert(rows, {channel, name, word, seen})
    end
end
return {"ok", NOW_MS, rows}
