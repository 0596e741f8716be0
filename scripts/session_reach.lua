-- What is known of some agents: how many sleep at a wait of theirs, their records, and those of the sessions that hold their names. Changes nothing.
-- Replies: {"ok", now_ms, rows}: a row is {sleepers, the agent's record or "", its session's or ""}, in their order
local agents, presence = unpack(KEYS)
-- then KEYS: ear of each one
-- then ARGV: names

local rows = {}
for i = 1, #ARGV do
    local record = redis.call("HGET", agents, ARGV[i]) or ""
    local session = string.match(record, "^%S+ %S+ (%S+)") or "-"
    local sleepers = listeners(KEYS[2 + i])
    table.insert(rows, {sleepers, record, redis.call("HGET", presence, session) or ""})
end
return {"ok", NOW_MS, rows}
