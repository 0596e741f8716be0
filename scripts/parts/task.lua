-- A task as it is kept: words in this order, "-" is none. Tasks are found in lower case and shown as first written; their texts lie beside them, opaque.
local WORDS = {"id", "status", "owner", "by", "priority", "number", "attempt", "token", "expires", "claimed", "created", "updated", "lapsed", "deps",
               "before", "before_expires", "finisher"}
local STATUS = {open = true, in_progress = true, blocked = true, done = true, cancelled = true}

local function task_of(record)
    local t, count = {}, 0
    for word in string.gmatch(record or "", "%S+") do
        count = count + 1
        t[WORDS[count] or "more"] = word
    end
    for _, number in ipairs({"priority", "number", "attempt", "token", "expires", "claimed", "created", "updated", "before_expires"}) do
        t[number] = tonumber(t[number])
        if not t[number] then return nil end
    end
    return count == #WORDS and STATUS[t.status] and t or nil -- else somebody wrote past redischat
end

local function task_text(t)
    local words = {}
    for i, word in ipairs(WORDS) do words[i] = t[word] end
    return table.concat(words, " ")
end

local function parted(text) -- "a,b" or "-"
    local found = {}
    if text ~= "-" then for one in string.gmatch(text, "[^,]+") do table.insert(found, one) end end
    return found
end
