-- Who holds what overlaps these paths, own locks and those that ran out included. Writes nothing.
-- Replies: {"ok", name, now_ms, the last token, then each {path, asked, holder, compared holder, mode, expires_ms, token, lock id, offer (0|1), channel, reason}}
-- {"no_channel", channel}
-- with: head, held, lock
local heads, meta, held, order, locks = unpack(KEYS)
local channel = unpack(ARGV)
-- then ARGV: paths

BOOK = {held = held, order = order, locks = locks}
local _, _, name = head_of(heads, channel)
if channel ~= "" and not name then return {"no_channel", channel} end
local reply = {"ok", name or "", NOW_MS, redis.call("HGET", meta, "token") or 0}
for _, h in ipairs(in_the_way({unpack(ARGV, 2)}, "x", "")) do
    local r = record_of(h.id) or {owner = h.owner, channel = "", reason = ""}
    local offer = h.request ~= "-" and 1 or 0
    table.insert(reply, {show(h.path), show(h.asked), r.owner, h.owner, h.mode, h.ends, h.token, h.id, offer, r.channel, r.reason})
end
return reply
