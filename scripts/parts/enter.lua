-- Stand in line: refused where that would never end, or where too many stand there. Needs survey.lua, circle.lua, serve.lua, refuse.lua.
local MOST_WAITING, STAGGER_MS, NEVER_MS = 50, 20, 3600000

-- What is told to one whose way an earlier request is in.
local function in_line(name, ahead)
    local w, asked = ahead.request, ahead.path
    local path = w.paths[1]
    for _, one in ipairs(w.paths) do
        if one == asked or string.sub(asked, 1, #one + 1) == one .. "/" or string.sub(one, 1, #asked + 1) == asked .. "/" then path = one end
    end
    return {"path_lock_conflict", name, show(path), show(asked), w.name, mode_of(w.mode), 0, "", w.reason, 1}
end

-- In how many ms to look again, ring or no ring: just after the first lock that could make room runs out, each a little after the one before it.
local function look_again(rows, mine)
    local look = NEVER_MS
    for _, w in ipairs(rows) do
        for _, h in ipairs(w.held) do look = math.min(look, h.ends - NOW_MS + STAGGER_MS * #mine.ahead) end
        if w == mine then break end
    end
    return look
end

-- Gives nil and what to answer when it may not; else what it should know: "", or a circle that only `wait --from` closes; and the line as it is then.
local function may_wait(name, mine, rows, stuck)
    if strike_out(mine.request, function(request) return request_of(request).owner == mine.owner end) then -- a process of mine that is gone
        rows, stuck = survey(mine)
    end
    local found = circle(rows, stuck, mine.owner, true)
    if (found or #rows > MOST_WAITING) and strike_out(mine.request) then
        rows, stuck = survey(mine)
        found = circle(rows, stuck, mine.owner, true)
    end
    local hard = found and circle(rows, stuck, mine.owner, false)
    if not hard and #rows <= MOST_WAITING then return found or "", nil, rows end
    serve() -- whoever was struck out may have stood in somebody's way
    return nil, hard and {"deadlock", hard} or {"path_lock_line_full", name, MOST_WAITING}
end

local function enter(place, mine, known, rows, stuck)
    local soft, refusal = "", nil
    if not known then
        soft, refusal, rows = may_wait(place.name, mine, rows, stuck)
        if not soft then return refusal end
        local ticket = redis.call("HINCRBY", BOOK.meta, "token", 1)
        local words = table.concat({ticket, mine.owner, mine.mode, mine.name, place.name, NOW_MS}, " ")
        redis.call("HSET", BOOK.requests, mine.request, table.concat({words, mine.reason, table.concat(mine.paths, "\n")}, "\n"))
        redis.call("ZADD", BOOK.line, ticket, mine.request)
        count_asked(mine.paths, 1)
    end
    local look = look_again(rows, mine)
    serve() -- my waiting may free somebody who stood behind one that is stuck on them
    return {"ok", "queued", place.name, #mine.ahead + 1, look, soft}
end
