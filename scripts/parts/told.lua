-- What the audits of locks say. Lists of paths stand one a line: none holds a line break. Needs lock.lua, audit.lua.
local function facts_of(ask, paths, token, ends, more)
    local shown = {}
    for i, path in ipairs(paths) do shown[i] = show(path) end
    local facts = {"lock_id", ask.id, "repository", ask.key, "paths", table.concat(shown, "\n"), "mode", ask.mode == "s" and "shared" or "exclusive",
                   "token", token, "expires_at", ends, "reason", ask.reason ~= "" and ask.reason or "-"}
    for _, word in ipairs(more or {}) do table.insert(facts, word) end
    return facts
end

local function sentence(ask, paths, token, late)
    local text = listed(paths) .. (ask.mode == "s" and " (to read)" or "") .. " for " .. seconds(ask.ttl) .. " (token " .. token .. ")"
    return text .. (late >= 0 and ", " .. seconds(late) .. " after it had run out" or "") .. (ask.reason ~= "" and ": " .. ask.reason or "")
end
