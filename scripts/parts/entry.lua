-- An entry as it is stored: six fields in a fixed order (news.lua reads them by position), then what the author gave.
local WHOLE = 4000 -- bytes; hooks only point at what is longer. Written once, here: were it the reader's choice, two readers would disagree and lose it
local HOOKS = 10 -- where that stands: 0 whole, 1 pointed at, 2 pointed at and waking nobody (over a budget)

local function entry_of(from, kind, audience, ts, body, to, reply, thread, title, status)
    local fields = {"f", from, "k", kind, "w", audience, "t", ts, "x", #body > WHOLE and "1" or "0", "b", body}
    for _, pair in ipairs({{"to", to}, {"r", reply}, {"th", thread}, {"h", title}, {"s", status}}) do
        if pair[2] ~= "" then table.insert(fields, pair[1]) table.insert(fields, pair[2]) end
    end
    return fields
end
