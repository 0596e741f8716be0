-- A mark is "heard read epoch maybe lease hi until spoke": all up to `read` was handed out whole; up to `heard` what wakes me was, the
-- rest was only pointed at; up to `maybe` a reader that died may have shown; `lease` is held until `until` and covers up to `hi`;
-- `spoke` is the head when I last spoke here: what wakes me above it waits for my answer.
local function mark_of(text)
    local heard, read, epoch, maybe, lease, hi, ends, spoke =
        string.match(text, "^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+)$")
    return {heard = tonumber(heard), read = tonumber(read), epoch = epoch, maybe = tonumber(maybe), lease = lease,
            hi = tonumber(hi), ends = tonumber(ends), spoke = tonumber(spoke)}
end

local function mark_text(m)
    return table.concat({m.heard, m.read, m.epoch, m.maybe, m.lease, m.hi, m.ends, m.spoke}, " ")
end

local function new_mark(epoch, at)
    return {heard = at, read = at, epoch = epoch, maybe = 0, lease = "-", hi = 0, ends = 0, spoke = at}
end

local function load_mark(marks, channel) -- false where there is none
    local record = redis.call("HGET", marks, channel)
    return record and mark_of(record)
end

local function unlease(m) m.lease, m.hi, m.ends = "-", 0, 0 end
