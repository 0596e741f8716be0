-- Whom a message wakes: "*" everyone, "-" nobody, or ",a,b,". Addressing is never read from text. Gives audience, names as first written; or nil, refusal.
local function audience_of(members, name, mode, ask, named)
    if #named == 0 then return (ask == "all" or (ask == "" and mode == "ordinary")) and "*" or "-", {} end
    local records, shown = redis.call("HMGET", members, unpack(named)), {}
    for i, who in ipairs(named) do
        local written, state = string.match(records[i] or "", "^(%S+) (%S+)")
        if not written then return nil, {"stranger", name, who} end
        if state ~= "in" then return nil, {"departed", name, written} end
        shown[i] = written
    end
    return "," .. table.concat(named, ",") .. ",", shown
end
