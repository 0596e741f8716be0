-- One look at a stream for one reader: what to hand out whole, what to point at, how far that reaches. Bounds the server's time: at most SCAN
-- entries a call, fetched in steps, so that a page of large messages is never in memory whole. Needs news.lua.
local SCAN, STEP, PREVIEWS, PREVIEW_BYTES = 1000, 100, 3, 160

local function hand_out(page, seq, entry, maybe, budget, me)
    local size = #entry[BODY]
    if budget.count == 0 or (size > budget.bytes and budget.bytes < budget.most) then return false end
    local cut = size > budget.most and size or 0 -- larger than the whole budget: an excerpt, or it would block all behind it
    if cut > 0 then entry[BODY] = string.sub(entry[BODY], 1, budget.most) end
    budget.count, budget.bytes = budget.count - 1, math.max(0, budget.bytes - size)
    page.wakes = page.wakes or wakes(entry, me)
    table.insert(page.whole, {seq, seq <= maybe and 1 or 0, cut, entry})
    return true
end

local function point_at(page, seq, entry)
    if page.passive == 0 then page.lo = seq end
    page.passive = page.passive + 1
    if #page.previews < PREVIEWS then table.insert(page.previews, {seq, entry[FROM], string.sub(entry[BODY], 1, PREVIEW_BYTES)}) end
end

local function page_of(stream, from, head, mark, me, how, budget)
    local page = {hi = from, gap = 0, more = 0, passive = 0, lo = 0, whole = {}, previews = {}, wakes = false}
    local at, looked, full = from, 0, false
    repeat
        local step = redis.call("XRANGE", stream, "(0-" .. at, "0-" .. head, "COUNT", STEP) -- no further: strangers may have put something behind it
        for _, row in ipairs(step) do
            local seq, entry = tonumber(string.sub(row[1], 3)), row[2]
            if looked == 0 then page.gap = seq - from - 1 end -- seq is gap-free: a hole in front is what was trimmed
            looked, at = looked + 1, seq
            if known(entry, seq, me, mark.heard) then -- passed
            elseif full then page.more = page.more + 1
            elseif how == "hear" and (entry[BIG] ~= "0" or not wakes(entry, me)) then point_at(page, seq, entry)
            elseif not hand_out(page, seq, entry, mark.maybe, budget, me) then
                full, page.more = true, 1
                if #page.whole == 0 and page.passive == 0 then page.hi = seq - 1 end -- what was removed in front of it is told now, and once
            end
            if not full then page.hi = seq end
        end
    until #step < STEP or looked >= SCAN
    if looked == 0 then page.hi, page.gap = head, head - from
    elseif at < head then page.more = page.more + head - at end
    return page
end
