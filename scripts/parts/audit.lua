-- What a change of a claim, task, lease or lock leaves behind: a record after the channel's last message. It wakes nobody; whoever looks on is told.
-- Write it before the change itself: where it is refused (memory is full, the stream is damaged), nothing has happened yet. `facts` are words and
-- values in turn. Gives its id; or nil and what to answer. Needs damage.lua.
local function audit(audits, live, name, head, from, status, what, text, facts)
    for i = 2, #facts, 2 do facts[i] = string.gsub(facts[i], "\31", " ") end -- a reason cannot pass for more facts
    local id = redis.pcall("XADD", audits, head .. "-*", "f", from, "k", "a", "w", "-", "t", now_us(), "x", "0", "b", text, "h", what, "s", status,
        "d", table.concat(facts, "\31"))
    if type(id) == "string" then
        redis.call("SPUBLISH", live, "audit " .. string.lower(what))
        return id
    end
    return nil, not_added(id, name)
end

-- Spans of time, and batches from elsewhere, as audits tell of them.
local function seconds(ms) return string.format("%.4g s", ms / 1000) end

local function imported(what, names)
    local most = 20
    return "imported " .. #names .. " " .. what .. (#names == 1 and ": " or "s: ") .. table.concat(names, ", ", 1, math.min(#names, most)) .. (#names > most and ", ..." or "")
end
