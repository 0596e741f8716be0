-- What claims, tasks and locks ask first: is this caller who it says, and is there such a channel? Members or not, closed or not: work goes on.
-- Gives the caller's name, the channel's name, where its messages end; or nil and the refusal. Needs speak.lua, head.lua.
local function stand(agents, heads, channel, me, token, agent)
    local display, refusal = speak(agents, me, token, agent)
    if refusal then return nil, refusal end
    local head, _, name = head_of(heads, channel)
    if not name then return nil, {"no_channel", channel} end
    return display, name, head
end
