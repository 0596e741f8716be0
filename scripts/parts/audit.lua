-- What a change of a claim, task, lease or lock leaves behind: a record after the channel's last message. It wakes nobody; whoever looks on is told.
-- Write it before the change itself: where it is refused (memory is full, the stream is damaged), nothing has happened yet. `facts` are words and
-- values in turn. Gives its id; or nil and what to answer.
local function audit(audits, live, name, head, from, status, what, text, facts)
    for i = 2, #facts, 2 do facts[i] = string.gsub(facts[i], "\31", " ") end -- a reason cannot pass for more facts
    local id = redis.pcall("XADD", audits, head .. "-*", "f", from, "k", "a", "w", "-", "t", NOW_US, "x", "0", "b", text, "h", what, "s", status,
        "d", table.concat(facts, "\31"))
    if type(id) == "string" then
        redis.call("SPUBLISH", live, "audit " .. string.lower(what))
        return id
    end
    local why = tostring(id.err) -- a table on real servers, an object of its own on the fake
    if string.find(why, "equal or smaller", 1, true) or string.find(why, "too large", 1, true) or string.find(why, "exhausted", 1, true) then return nil, {"damaged", name} end
    return nil, redis.error_reply(why)
end
