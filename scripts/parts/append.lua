-- XADD 0-* numbers and appends in one command, so no gap is possible. Gives seq, or nil and what to answer: an id above 0-n can only come from a
-- stranger's raw XADD and ends the channel until it is repaired; anything else (out of memory) is the server's own word.
local function append(stream, name, fields)
    local id = redis.pcall("XADD", stream, "0-*", unpack(fields))
    if type(id) ~= "table" then return tonumber(string.sub(id, 3)) end
    if string.find(id.err, "equal or smaller", 1, true) then return nil, {"damaged", name} end
    return nil, id
end
