-- Leases that ran out are noticed by whoever looks next: one audit each, said in the name of who held it. They stay until they are recovered.
-- Replies: {"ok", noticed} {"no_channel", channel} {"damaged", name}
-- with: head, damage, audit, task
local heads, tasks, leases, audits, live = unpack(KEYS)
local channel = unpack(ARGV)
local MOST = 100

local head, _, name = head_of(heads, channel)
if not name then return {"no_channel", channel} end
local noticed = 0
for _, id in ipairs(redis.call("ZRANGEBYSCORE", leases, 1, NOW_MS)) do
    local t = task_of(redis.call("HGET", tasks, id) or "")
    if t and t.lapsed == "-" and t.expires > 0 and t.expires <= NOW_MS and noticed < MOST then
        local _, failure = audit(audits, live, name, head, t.owner, "lease.lapsed", t.id, "the lease of " .. t.owner .. " on " .. t.id .. " ran out " .. seconds(NOW_MS - t.expires) .. " before",
            {"task", t.id, "status", t.status, "owner", t.owner, "token", t.token, "lease_expires_at", t.expires})
        if failure then return failure end
        t.lapsed = NOW_MS
        redis.call("HSET", tasks, id, task_text(t))
        noticed = noticed + 1
    end
end
return {"ok", noticed}
