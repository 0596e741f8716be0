-- Who holds what overlaps these paths, own locks and those that ran out included, and who stands in line for it before the caller. Writes nothing.
-- reads only
-- Replies: {"ok", name, now_ms, the last token, (who stands in line, asked path)..., then each {path, asked, holder, compared holder, mode, expires_ms, token, lock id, offer (0|1), channel, reason}}
-- {"no_channel", channel} {"path_lock_invalid_record", name, path}
-- with: head, held, lock, line, way, survey
local heads, meta, held, order, locks, line, requests, asked, asked_order = unpack(KEYS)
local channel, me = unpack(ARGV)
-- then ARGV: paths

BOOK = {held = held, order = order, locks = locks, line = line, requests = requests, asked = asked, asked_order = asked_order}
local _, _, name = head_of(heads, channel)
if channel ~= "" and not name then return {"no_channel", channel} end
local paths, waiting = {unpack(ARGV, 3)}, {}
if is_asked(paths) then
    local mine = {request = "", owner = me, name = me, mode = "x", paths = paths, reason = ""}
    survey(mine)
    for _, a in ipairs(mine.ahead) do table.insert(waiting, a.request.name) table.insert(waiting, show(a.path)) end
end
local reply = {"ok", name or "", NOW_MS, redis.call("HGET", meta, "token") or 0, waiting}
for _, h in ipairs(in_the_way(paths, "x", "")) do
    local r = record_of(h.id) or {owner = h.owner, channel = "", reason = ""}
    local offer = h.request ~= "-" and 1 or 0
    table.insert(reply, {show(h.path), show(h.asked), r.owner, h.owner, h.mode, h.ends, h.token, h.id, offer, r.channel, r.reason})
end
if BOOK.broken then return {"path_lock_invalid_record", name or "", show(BOOK.broken)} end -- neither free nor anybody's
return reply
