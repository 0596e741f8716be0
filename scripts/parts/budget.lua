-- How much may be said in a channel within a span of time, by everybody or by one agent. A record: "messages characters per since said used by" (0: no such
-- bound). A span begins with the first message after the last one's end. Needs nothing; counts where a message is stored, so no two posts count as one.
local WARN, OVER, MUTE = 0.8, 1, 1.5 -- shares: the author is warned; hooks only point at what is said; and they wake nobody for it

-- The record with one more message of so many characters; how far over it is: 0 not at all, 1 warned, 2 pointed at, 3 waking nobody.
local function spent(text, characters)
    local most, chars, per, since, said, used, by = string.match(text, "^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$")
    if not most then return text, 0 end
    if NOW_MS - since >= tonumber(per) then since, said, used = NOW_MS, 0, 0 end
    said, used = said + 1, used + characters
    local share = math.max(tonumber(most) > 0 and said / most or 0, tonumber(chars) > 0 and used / chars or 0)
    local level = share > MUTE and 3 or share > OVER and 2 or share >= WARN and 1 or 0
    return table.concat({most, chars, per, since, said, used, by}, " "), level
end

local function length(body) -- in characters, not bytes
    local _, count = string.gsub(body, "[^\128-\191]", "")
    return count
end

-- What a message does to the channel's budget and its author's: fields and values to write, the highest level, whose budget that is ("": the channel's), its record.
local function spend(room, own, me, display, body)
    local fields, level, whose, record = {}, 0, "", ""
    for _, one in ipairs({{"budget", room, ""}, {"budget " .. me, own, display}}) do
        if one[2] then
            local text, far = spent(one[2], length(body))
            table.insert(fields, one[1])
            table.insert(fields, text)
            if far > level then level, whose, record = far, one[3], text end
        end
    end
    return fields, level, whose, record
end
