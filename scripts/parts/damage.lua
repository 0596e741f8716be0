-- What to answer where XADD was refused: a number that cannot follow is a stranger's doing (a raw XADD above 0-n; Redis 7 calls what would follow the highest
-- one too large), and the stream is to be repaired; anything else (out of memory) is the server's own word.
local function not_added(answer, name)
    local why = tostring(answer.err) -- a table on real servers, an object of its own on the fake
    for _, sign in ipairs({"equal or smaller", "too large", "exhausted"}) do
        if string.find(why, sign, 1, true) then return {"damaged", name} end
    end
    return redis.error_reply(why)
end
