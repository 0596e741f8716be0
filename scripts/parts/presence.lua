-- A session as it is known: words in this order, "-" and 0 are none. `asked`, `landed` and `missed` tell of the last wake: asked for, seen to land, not
-- seen; `told`: when the session was told of the last miss;
-- `worked`: when it last did something but talk. A state is idle, working, ended, or settling: its turn ends, and a hook of it looks for news.
local SEEN = {"agent", "harness", "host", "pid", "state", "active", "beat", "started", "way", "asked", "landed", "missed", "told", "worked", "project"}
local TIMES = {"active", "beat", "started", "asked", "landed", "missed", "told", "worked"}

local function session_of(record)
    local s, count = {}, 0
    for word in string.gmatch(record or "", "%S+") do
        count = count + 1
        s[SEEN[count] or "more"] = word
    end
    if count ~= #SEEN then return nil end
    for _, time in ipairs(TIMES) do s[time] = tonumber(s[time]) or 0 end
    return s
end

local function session_text(s)
    local words = {}
    for i, word in ipairs(SEEN) do words[i] = s[word] end
    return table.concat(words, " ")
end
