-- Bring a channel back, or raise the cap of an open one. Anyone may. A channel at its cap needs a larger one, or it would close on the next message.
-- Replies: {"ok", "reopened"|"raised"|"already", name, cap, talk, count} {"again", reply} {"not_you", ...} {"no_channel", channel} {"cap_used", name, cap, talk}
-- with: idem, agent, speak, head, notice
local stream, meta, heads, agents, idem, live = unpack(KEYS)
local channel, me, token, keep, cap = unpack(ARGV)

local past = again(idem)
if past then return past end
local display, refusal = speak(agents, me, token)
if refusal then return refusal end
local _, _, name = head_of(heads, channel)
local facts = redis.call("HMGET", meta, "state", "cap", "talk", "count")
if not name or not facts[1] then return {"no_channel", channel} end
local want, talk = tonumber(cap ~= "" and cap or facts[2]), tonumber(facts[3])
if want > 0 and want <= talk then return {"cap_used", name, want, talk} end
local word = facts[1] == "closed" and "reopened" or (want ~= tonumber(facts[2]) and "raised" or "already")
if word ~= "already" then
    redis.call("HSET", meta, "state", "open", "how", "", "reason", "", "cap", want)
    local text = word == "reopened" and " reopened this channel." or " set its cap to " .. want .. " messages."
    notice(stream, heads, live, channel, display, word, display .. text)
end
return remember(idem, keep, {"ok", word, name, want, talk, tonumber(facts[4])})
