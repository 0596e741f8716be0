-- Stands before every script: refuses a workspace of another format, of which nothing is understood; the server's time, taken once (TIME may advance within
-- a script on Redis 7); who listens at a doorbell. The workspace's meta comes behind all other keys (redischat/calls/call.py) and is taken off again.
local workspace = table.remove(KEYS)
local WRITTEN = redis.call("HGET", workspace, "format")
if WRITTEN and WRITTEN ~= "1" then return {"format", WRITTEN} end
local TIME = redis.call("TIME")
local NOW_MS = TIME[1] * 1000 + math.floor(TIME[2] / 1000)
local function now_us() return TIME[1] .. string.format("%06d", tonumber(TIME[2])) end -- as text: a double would round it
local function listeners(bell) return redis.call("SPUBLISH", bell, "?") end -- nobody heeds "?"; no ACL confines PUBSUB SHARDNUMSUB to a workspace
