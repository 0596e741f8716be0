-- Serve the line, first come first served. Ring first: nobody hears, nobody is given anything, the next one. Heard is an offer of three seconds, which the
-- same request confirms; those behind it are told when it ends, or one who was stopped after its ring would block all of them. Needs line.lua.
local OFFER_MS = 3000

local function offer(w)
    local door = BOOK.door .. w.request
    leave_line(w.request)
    if redis.call("SPUBLISH", door, "granted") == 0 then return false end
    give(w.paths, {owner = w.owner, mode = w.mode, ends = NOW_MS + OFFER_MS, token = 0, id = w.request, request = w.request})
    return true
end

local function tell_behind(offered)
    for _, w in ipairs(survey()) do
        local behind = false
        for _, h in ipairs(w.held) do behind = behind or offered[h.request] end
        local door = BOOK.door .. w.request
        if behind then redis.call("SPUBLISH", door, "look " .. OFFER_MS) end
    end
end

-- One look at the line serves all that are free in it: an offer makes room for nobody who was passed over, unless its owner asks for something else, too.
local function serve()
    local offered, look = {}, redis.call("ZCARD", BOOK.line) > 0
    while look do
        look = false
        local rows, asks = survey(), {}
        for _, w in ipairs(rows) do asks[w.owner] = (asks[w.owner] or 0) + 1 end
        for _, w in ipairs(rows) do
            if #w.held == 0 and #w.ahead == 0 then
                local heard = offer(w)
                offered[w.request] = heard or nil
                look = not heard or asks[w.owner] > 1
                if not heard then strike_out("", function() return true end) end -- no wait of a dead one is met twice
                if look then break end
            end
        end
    end
    if next(offered) then tell_behind(offered) end
end
