-- What an entry is to one reader. Fields stand in a fixed order: f k w t x b, then what the author gave.
local FROM, KIND, WAKES, BIG, BODY = 2, 4, 6, 10, 12

local function wakes(entry, me)
    return entry[WAKES] == "*" or string.find(entry[WAKES], "," .. me .. ",", 1, true) ~= nil
end

-- Mine, an imported record (agent-chat numbered its audits among its messages), or handed out whole by a hook before: no news to me. A big message is only pointed at by hooks, so it still is.
local function known(entry, seq, me, heard)
    if entry[1] ~= "f" or not entry[BODY] then return true end -- a stranger's raw XADD: nothing that redischat wrote, and no reason to stop here
    if string.lower(entry[FROM]) == me or entry[KIND] == "a" then return true end
    return seq <= heard and entry[BIG] == "0" and wakes(entry, me)
end
