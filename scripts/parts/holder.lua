-- A task under a lease has an end in `expires`; one that ran out stays its holder's until that one comes back or somebody recovers it. Needs task.lua.
local function held(t) return t.expires > 0 end

local function lapsed(t) return held(t) and t.expires <= NOW_MS end

local function is_mine(t, me) return string.lower(t.owner) == me end
