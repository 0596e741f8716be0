-- XADD 0-* numbers and appends in one command, so no gap is possible; an import brings its own number. Gives seq, or nil and what to answer: a number that no
-- conversation reaches ends the channel until it is repaired, as an id above 0-n does. Needs head.lua, damage.lua.
local function append(stream, number, name, fields)
    local id = redis.pcall("XADD", stream, number, unpack(fields))
    if type(id) ~= "string" then return nil, not_added(id, name) end
    local seq = tonumber(string.sub(id, 3))
    if seq <= LAST_NUMBER then return seq end
    redis.call("XDEL", stream, id)
    return nil, {"damaged", name}
end
