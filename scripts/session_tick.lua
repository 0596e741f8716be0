-- What a hook asks at every event of its session: is there news, are paths of this repository locked, is something of mine to be kept? It writes only
-- when the session's state changes, when a wake was asked for, once a second while it works, and else every 30 s. An event is prompt, woken (a prompt that
-- our wake made), tool, talk (a tool call that is only redischat), idle, or other (which changes nothing). A turn that ends while there is news settles: a
-- hook looks whether it is to go on, and until then nobody wakes it.
-- Replies: {"ok", known (0|1), news (0|1), locks (0|1), keep (1: what I hold is to be kept; 2: a wake was missed, and I was not told; 3: both)}
-- with: agent, head, mark, presence
local heads, marks, agents, presence, order, owners, leased = unpack(KEYS)
local session, me, event, repo = unpack(ARGV)
local EVERY_MS, WORK_MS = 30000, 1000
local STATES = {prompt = "working", woken = "working", tool = "working", talk = "working", idle = "idle"}

local s = session_of(redis.call("HGET", presence, session))
if not s then return {"ok", 0, 0, 0, 0} end
local news, locks, keep = 0, 0, 0
local flat = redis.call("HGETALL", marks)
for i = 1, #flat, 2 do
    local mark, head, epoch = mark_of(flat[i + 1]), head_of(heads, flat[i])
    local free = mark.lease == "-" or mark.ends <= NOW_MS -- else another reader of mine is showing it
    if head and epoch == mark.epoch and head > mark.heard and free then
        news = 1
        break
    end
end
if repo ~= "" then locks = #redis.call("ZRANGEBYLEX", order, "[" .. repo, "(" .. repo .. "0", "LIMIT", 0, 1) end
local state = event == "idle" and news == 1 and "settling" or STATES[event] or s.state
local due = NOW_MS - s.active >= EVERY_MS
if event == "woken" and (s.asked > 0 or s.missed > s.landed) then s.landed, due = NOW_MS, true end
local works = (event == "tool" or event == "prompt") and NOW_MS - s.worked >= WORK_MS
if event ~= "other" and (state ~= s.state or state == "settling" or due or works or s.asked > 0) then
    if works then s.worked = NOW_MS end
    s.asked, s.state, s.active, s.beat = 0, state, NOW_MS, NOW_MS
    redis.call("HSET", presence, session, session_text(s))
    local a = agent_of(redis.call("HGET", agents, me))
    if a.session == session then
        a.seen, a.state = NOW_MS, "live"
        redis.call("HSET", agents, me, agent_text(a))
    end
    if due and (redis.call("HLEN", leased) > 0 or #redis.call("ZRANGEBYLEX", owners, "[" .. me .. " ", "(" .. me .. "!", "LIMIT", 0, 1) > 0) then keep = 1 end
end
if state == "working" and event ~= "other" and s.missed > s.told then keep = keep + 2 end
return {"ok", 1, news, locks, keep}
