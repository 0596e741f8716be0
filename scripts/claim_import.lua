-- Claims from elsewhere, as they were; a name that is claimed stays with whoever has it. Fencing tokens are new. One audit tells of the batch.
-- Replies: {"ok", name, stored, there (a,b: names that are claimed)} {"again", reply} {"not_you", ...} {"no_channel", channel} {"damaged", name}
-- with: idem, agent, speak, head, stand, damage, audit
local world, heads, agents, claims, audits, idem, live = unpack(KEYS)
local channel, me, token, agent, keep = unpack(ARGV)
-- then ARGV: name, owner, claimed (0: now), expires, note, repeated
local FIRST, ROW = 6, 5

local past = again(idem)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local fresh, shown, there = {}, {}, {}
for i = FIRST, #ARGV, ROW do
    if redis.call("HEXISTS", claims, string.lower(ARGV[i])) == 1 then table.insert(there, ARGV[i])
    else
        table.insert(fresh, i)
        table.insert(shown, ARGV[i])
    end
end
if #fresh > 0 then
    local _, failure = audit(audits, live, name, head, display, "claim.imported", "import", imported("claim", shown), {"count", #fresh, "claims", table.concat(shown, ",")})
    if failure then return failure end
    bear(agents, me, display, NOW_MS)
end
for _, i in ipairs(fresh) do
    local written, owner, since, expires, note = unpack(ARGV, i, i + ROW - 1)
    bear(agents, string.lower(owner), owner)
    local fence = redis.call("HINCRBY", world, "token", 1)
    redis.call("HSET", claims, string.lower(written), table.concat({written, owner, since == "0" and NOW_MS or since, expires, fence, note}, " "))
end
return remember(idem, keep, {"ok", name, #fresh, table.concat(there, ",")})
