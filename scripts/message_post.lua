-- Say something in a channel: checked, numbered, stored and rung in one step, at a cost that does not depend on the number of members.
-- Replies: {"ok", seq, ts_ms, rung, talk, cap, count, "open"|"closed", name, display, wakes, hint, audience, level, whose, budget}: rung = who heard a bell of their own
-- (a,b), or how many connections heard the room's; hint = 1 once per room and agent, when narrowing would have spared somebody. level, whose, budget: how far
-- over a budget this is (parts/budget.lua).
-- {"again", reply} {"other", seq} (this key, another text) {"not_you", ...} {"no_channel", channel} {"closed", name, reason} {"not_member", name, me}
-- {"stranger", name, agent} {"departed", name, agent} {"no_seq", name, seq, head} {"damaged", name}
-- with: idem, said, agent, speak, head, mark, entry, damage, append, notice, audience, ring, budget
local stream, meta, members, heads, agents, marks, owed, everyone, hinted, idem, room, live = unpack(KEYS)
-- then KEYS: bell and debts of each one named
local channel, me, token, keep, body, ask, reply_to, thread, title, status = unpack(ARGV)
-- then ARGV: named
local CROWD = 3 -- members; in a room of two, waking the other one is the point

local past = said_before(idem, stream, body)
if past then return past end
local display, refusal = speak(agents, me, token)
if refusal then return refusal end
local facts = redis.call("HMGET", meta, "state", "mode", "cap", "talk", "count", "reason", "budget", "budget " .. me)
local head, epoch, name = head_of(heads, channel)
if not facts[1] or not head then return {"no_channel", channel} end
local mark = load_mark(marks, channel)
if not mark or mark.epoch ~= epoch then return {"not_member", name, display} end
if facts[1] ~= "open" then return {"closed", name, facts[6]} end
if reply_to ~= "" and (tonumber(reply_to) > head or tonumber(reply_to) < 1) then return {"no_seq", name, reply_to, head} end

local mode, cap, talk, count, named = facts[2], tonumber(facts[3]), tonumber(facts[4]) + 1, tonumber(facts[5]), {unpack(ARGV, 11)}
local audience, shown = audience_of(members, name, mode, ask, named)
if not audience then return shown end
local wakes = table.concat(shown, ",")
local fields = entry_of(display, "m", audience, now_us(), body, #named > 0 and wakes or ask, reply_to, thread, title, status)
local kept, level, whose, budget = spend(facts[7], facts[8], me, display, body)
if level > 1 then fields[HOOKS] = level == 3 and "2" or "1" end
local seq, failure = append(stream, "0-*", name, fields)
if failure then return failure end
if status == "summary" then table.insert(kept, "summary") table.insert(kept, seq) end
redis.call("HSET", meta, "talk", talk, unpack(kept))
set_head(heads, channel, seq, epoch, name)
if mark.heard == head then mark.heard = seq end -- I stood at the end: my own words are no news to me
if mark.read == head then mark.read = seq end
mark.spoke = seq
redis.call("HSET", marks, channel, mark_text(mark))
redis.call("HDEL", owed, channel)

local rung, hint, state = 0, 0, "open"
if #named > 0 then rung = ring_named(13, channel, me, seq, named, shown)
elseif audience == "*" then rung = ring_everyone(room, everyone, channel, me, seq) end
redis.call("SPUBLISH", live, "message " .. seq)
if ask == "" and audience == "*" and count >= CROWD and redis.call("HGET", hinted, channel .. " " .. me) ~= epoch then
    redis.call("HSET", hinted, channel .. " " .. me, epoch)
    hint = 1
end
if cap > 0 and talk >= cap then -- the message that reaches the cap is the last one in
    local reason = "it reached its cap of " .. cap .. " messages"
    state = "closed"
    redis.call("HSET", meta, "state", state, "how", "cap", "reason", reason, "closed_at", NOW_MS)
    notice(stream, heads, live, channel, display, state, "closed: " .. reason)
    redis.call("SPUBLISH", room, state)
end
return remember(idem, keep, {"ok", seq, NOW_MS, rung, talk, cap, count, state, name, display, wakes, hint, audience, level, whose, budget})
