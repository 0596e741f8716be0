-- Hand one agent what it has not been shown, over any number of its channels, under one delivery lease. how: read (everything unread), wake
-- (the same where something of it wakes me, else nothing) or hear (what wakes me; the rest is counted and previewed once). The lease id is the
-- idempotency key: the same id is handed the same messages.
-- Guarantee: one live lease per agent and channel; nothing here moves a mark past a message of somebody else.
-- Replies: {"ok", until_ms, now_ms, rows}; a row is {channel, name, word, ...}: "take", epoch, which marks (both|heard), hi, gap, more, passive, lo,
-- whole, previews | "busy", until_ms | "rewound", from, to | "again" (only old news on this page: take once more) | "more", count | "not_member".
-- whole: {seq, repeat, size if cut else 0, entry}; previews: {seq, from, start}, at most 3. {"not_you", ...}
-- with: agent, speak, head, mark, news, page
local heads, marks, agents, scratch = unpack(KEYS)
-- then KEYS: streams
local me, token, how, lease, lease_ms, max_count, max_bytes = unpack(ARGV)
-- then ARGV: channels

redis.call("DEL", scratch) -- a script that has written is never refused for lack of memory: reading must go on when posting cannot
local _, refusal = speak(agents, me, token)
if refusal then return refusal end
local budget, until_ms, rows = {count = tonumber(max_count), bytes = tonumber(max_bytes), most = tonumber(max_bytes)}, NOW_MS + tonumber(lease_ms), {}

local function take(channel, stream, mark, head, epoch, name)
    local function save() redis.call("HSET", marks, channel, mark_text(mark)) end
    if head < mark.heard then -- the stream alone was set back (a partial restore): say so, stand at its end
        table.insert(rows, {channel, name, "rewound", head + 1, mark.heard})
        mark.heard, mark.read, mark.maybe = head, math.min(mark.read, head), 0
        unlease(mark)
        save()
    end
    local from = how == "hear" and mark.heard or mark.read
    if head == from then return end
    if mark.lease ~= "-" and mark.lease ~= lease then
        if mark.ends > NOW_MS then return table.insert(rows, {channel, name, "busy", mark.ends}) end
        mark.maybe = math.max(mark.maybe, mark.hi) -- its reader died: it may have shown up to there
    end
    local page = page_of(stream, from, head, mark, me, how, budget)
    if how == "wake" and not page.wakes then return end -- a ring is a hint: it may have been for my own words, or for what is shown already
    local both = how ~= "hear" or (page.passive == 0 and mark.read == mark.heard)
    if #page.whole > 0 or page.passive > 0 or page.gap > 0 then
        mark.lease, mark.hi, mark.ends = lease, page.hi, until_ms
        save()
        table.insert(rows, {channel, name, "take", epoch, both and "both" or "heard", page.hi, page.gap, page.more, page.passive, page.lo, page.whole, page.previews, from})
    elseif page.hi > from then -- only my own words, or heard before: nothing to show, pass
        mark.heard = math.max(mark.heard, page.hi)
        if both then mark.read = page.hi end
        unlease(mark)
        save()
        if page.hi < head then table.insert(rows, {channel, name, "again"}) end
    elseif page.more > 0 then -- other channels used up what this reader can show
        table.insert(rows, {channel, name, "more", page.more})
    end
end

for i, channel in ipairs({unpack(ARGV, 8)}) do
    local head, epoch, name = head_of(heads, channel)
    local mark = load_mark(marks, channel)
    if not head or not mark or mark.epoch ~= epoch then table.insert(rows, {channel, name or channel, "not_member"})
    else take(channel, KEYS[i + 4], mark, head, epoch, name) end
end
return {"ok", until_ms, NOW_MS, rows}
