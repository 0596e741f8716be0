-- Claim a name: the first one wins, and the same one again is told so. A claim with a lease that ran out stays until its holder claims again, or somebody
-- takes it over on purpose (steal).
-- Replies: {"ok", claimed|renewed|recovered, name, claim, token, claimed_ms, expires_ms, previous holder} {"not_you", ...} {"no_channel", channel}
-- {"damaged", name} {"claim_invalid_record", name, claim} {"claim_taken", name, claim, holder, claimed_ms, expires_ms, lapsed (0|1)}
-- with: agent, speak, head, stand, damage, audit
local world, heads, agents, claims, audits, live, scratch = unpack(KEYS)
local channel, me, token, agent, written, note, ttl, steal = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local key, how, before = string.lower(written), "claimed", ""
local ends = tonumber(ttl) > 0 and NOW_MS + tonumber(ttl) or 0
local record = redis.call("HGET", claims, key)
local first, owner, since, expires, fence, said = string.match(record or "", "^(%S+) (%S+) (%d+) (%d+) (%d+) (.*)$")
if record and not owner then -- whose it is nobody can tell: not free, and taken over only on purpose
    if steal ~= "1" then return {"claim_invalid_record", name, written} end
    how, before = "recovered", "-"
end
if owner then
    local lapsed = tonumber(expires) > 0 and tonumber(expires) <= NOW_MS
    if string.lower(owner) == me then
        if tonumber(ttl) == 0 and note == "" and not lapsed then return {"ok", "renewed", name, first, fence, since, expires, ""} end
        how = "renewed" -- a lease that still runs is only ended by a longer one, a claim for good by none, a note by another
        if not lapsed then ends = tonumber(expires) == 0 and 0 or math.max(ends, tonumber(expires)) end
        if note == "" then note = said end
    elseif lapsed and steal == "1" then how, before = "recovered", owner
    else return {"claim_taken", name, first, owner, since, expires, lapsed and 1 or 0} end
end
if how ~= "renewed" then fence, since = (tonumber(redis.call("HGET", world, "token")) or 0) + 1, NOW_MS end
written = first or written
local text = how .. " " .. written .. (before == "-" and ", whose record could not be read" or before ~= "" and " from " .. before .. ", whose lease had run out" or "")
if tonumber(ttl) > 0 then text = text .. " for " .. seconds(tonumber(ttl)) end
if note ~= "" then text = text .. ": " .. note end
local _, failure = audit(audits, live, name, head, display, "claim." .. how, written, text,
    {"claim", written, "owner", display, "token", fence, "lease_expires_at", ends, "previous_owner", before ~= "" and before or "-"})
if failure then return failure end
bear(agents, me, display, NOW_MS)
redis.call("HSET", world, "token", math.max(tonumber(fence), tonumber(redis.call("HGET", world, "token")) or 0))
redis.call("HSET", claims, key, table.concat({written, display, since, ends, fence, note}, " "))
return {"ok", how, name, written, fence, since, ends, before ~= "-" and before or ""}
