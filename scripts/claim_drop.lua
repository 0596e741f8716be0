-- Give a claim back.
-- Replies: {"ok", name, claim} {"again", reply} {"not_you", ...} {"no_channel", channel} {"damaged", name} {"not_claimed", name, claim, holder or ""}
-- {"claim_invalid_record", name, claim}
-- with: idem, agent, speak, head, stand, damage, audit
local heads, agents, claims, audits, idem, live, scratch = unpack(KEYS)
local channel, me, token, agent, keep, claim = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local past = again(idem)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local record = redis.call("HGET", claims, claim)
local written, owner = string.match(record or "", "^(%S+) (%S+) %d+ %d+ %d+ ")
if record and not owner then return {"claim_invalid_record", name, claim} end
if not owner or string.lower(owner) ~= me then return {"not_claimed", name, written or claim, owner or ""} end
local _, failure = audit(audits, live, name, head, display, "claim.released", written, "gave back " .. written, {"claim", written, "owner", "-"})
if failure then return failure end
redis.call("HDEL", claims, claim)
return remember(idem, keep, {"ok", name, written})
