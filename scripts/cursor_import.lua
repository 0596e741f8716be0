-- How far agents had read elsewhere. Who is no member becomes one at that mark; a member's marks rise to it, but not those of a name that somebody else
-- holds: what its session was shown is known here. Never beyond the channel's end; a closed channel and who left it stay as they are.
-- Replies: {"ok", name, set (a,b), stay (a,b: higher than the mark here, and not set)} {"not_you", ...} {"no_channel", channel}
-- with: agent, speak, head, stand, mark, join
local heads, agents, meta, members = unpack(KEYS)
-- then KEYS: marks and bell of each agent
local channel, me, token, agent = unpack(ARGV)
-- then ARGV: agent, up to where, in turn
local FIRST = 5

local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local open, set, stay = redis.call("HGET", meta, "state") == "open", {}, {}

local function raise(key, marks, at) -- gives whether it rose; nil where there was no need
    local mark = load_mark(marks, channel)
    local _, epoch = head_of(heads, channel)
    if not mark or mark.epoch ~= epoch or at <= mark.read then return nil end
    local holder = string.match(redis.call("HGET", agents, key) or "", "^%S+ (%S+)") or "-"
    if holder ~= "-" and key ~= me then return false end
    mark.read, mark.heard = at, math.max(mark.heard, at)
    redis.call("HSET", marks, channel, mark_text(mark))
    return true
end
for i = FIRST, #ARGV, 2 do
    local who, key, at = ARGV[i], string.lower(ARGV[i]), math.min(tonumber(ARGV[i + 1]), head)
    local place, done = string.match(redis.call("HGET", members, key) or "", "^%S+ (%S+)"), nil
    if open and not place then done = join(members, agents, meta, heads, KEYS[i], KEYS[i + 1], channel, key, who, at) == "new"
    elseif open and place == "in" then done = raise(key, KEYS[i], at)
    elseif not place then done = false end
    if done ~= nil then table.insert(done and set or stay, who) end
end
return {"ok", name, table.concat(set, ","), table.concat(stay, ",")}
