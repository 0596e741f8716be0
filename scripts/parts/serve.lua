-- Serve the line, first come first served. Ring first: nobody hears, nobody is given anything, the next one. Heard is an offer of three seconds, which the
-- same request confirms; those behind it are told when it ends, or one who was stopped after its ring would block all of them. Needs line.lua.
local OFFER_MS = 3000

local function tell_behind(request)
    for _, w in ipairs(survey()) do
        local behind = false
        for _, h in ipairs(w.held) do behind = behind or h.request == request end
        local door = BOOK.door .. w.request
        if behind then redis.call("SPUBLISH", door, "look " .. OFFER_MS) end
    end
end

local function serve()
    local served = redis.call("ZCARD", BOOK.line) > 0
    while served do
        served = false
        for _, w in ipairs(survey()) do
            if #w.held == 0 and #w.ahead == 0 then
                local door = BOOK.door .. w.request
                served = true
                leave_line(w.request)
                if redis.call("SPUBLISH", door, "granted") > 0 then
                    give(w.paths, {owner = w.owner, mode = w.mode, ends = NOW_MS + OFFER_MS, token = 0, id = w.request, request = w.request})
                    tell_behind(w.request)
                end
                break
            end
        end
    end
end
