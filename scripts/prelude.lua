-- Stands before every script: the server's time, taken once (TIME may advance within a script on Redis 7); and who listens at a doorbell.
local TIME = redis.call("TIME")
local NOW_MS = TIME[1] * 1000 + math.floor(TIME[2] / 1000)
local NOW_US = TIME[1] .. string.format("%06d", tonumber(TIME[2])) -- as text: a double would round it
local function listeners(bell) return redis.call("SPUBLISH", bell, "?") end -- nobody heeds "?"; no ACL confines PUBSUB SHARDNUMSUB to a workspace
