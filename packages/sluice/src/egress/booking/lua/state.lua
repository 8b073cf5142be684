-- The state of an upstream. Fields of the hash:
--   m                   the marker and all single numbers: run id, epoch, recovering, last, skew, seq, virtual,
--                       retry tokens, retry time
--   O                   processes: when each exchanged last
--   p                   pauses by scope
--   u<limit> q<limit>   units taken, units waiting
--   c<id> w<id>         a call; a waiter
--   a<process>          its waiters that have a place to be confirmed, or that were passed over and have none
--   g<limit> <process> <tick>   units of answered calls
--   r<limit>            when those were answered

--- @const SILENT_MS = 3000
--- @const CONFIRM_MS = 2000
--- @const RAMP_MS = 4000
--- @const RAMP_STEP_MS = 100
--- @const LEAP_MS = 1000
--- @const LEFT = -1000000000000
--- @const IDLE = 4503599627370496

local S, Q, T, E = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local asked = cjson.decode(ARGV[2])
local owner, rules, limits = asked.owner, asked.rules, asked.rules.limits
local server_ms = floor(clock / 1000)

local function load(field)
  local packed = call('HGET', S, field)
  return packed and cmsgpack.unpack(packed) or nil
end

local limit_of = {}
for _, limit in ipairs(limits) do limit_of[limit.key] = limit end

local owners, pauses = load('O') or {}, load('p') or {}
local meta
do
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  local m = load('m')
  if m then
    meta = { run = m[1], epoch = m[2], recovering = m[3], last = m[4], skew = m[5], seq = m[6], virtual = m[7], tokens = m[8], retry_ms = m[9] }
  else
    meta = { run = '', last = server_ms, skew = 0, seq = 0, virtual = 0, tokens = 0, retry_ms = server_ms - 1000 }
  end
  if meta.run ~= run then
    -- Another server, or one that lost its data: the latest changes may be missing, so nothing is granted for a while.
    meta.run, meta.epoch, meta.recovering = run, run .. ':' .. server_ms, 1
    meta.skew = server_ms - meta.last
    for _, id in ipairs(call('ZRANGE', E, 0, -1)) do call('ZADD', E, meta.last + rules.heldMs, id) end
  end
end

-- The time used for decisions: the server's, minus how far its clock jumped ahead of what this process measured. It
-- never runs backwards.
if owners[owner] and asked.sinceMs >= 0 then
  local leap = server_ms - meta.skew - owners[owner] - ceil(asked.sinceMs)
  if leap > LEAP_MS and owners[owner] ~= LEFT then meta.skew = meta.skew + leap end
end
if server_ms - meta.skew < meta.last then meta.skew = server_ms - meta.last end
meta.last = server_ms - meta.skew
local now = meta.last

-- Counters are read once and written at the end. None is negative, and one that is 0 is not stored.
local counts, changed = {}, {}
local function count(field)
  local n = counts[field]
  if not n then
    n = tonumber(call('HGET', S, field) or 0)
    counts[field] = n
  end
  return n
end
local function add(field, units)
  counts[field] = max(0, count(field) + units)
  changed[field] = true
end

local calls, call_changed = {}, {}
local function find_call(id)
  if calls[id] == nil then
    local c = load('c' .. id)
    calls[id] = c and { owner = c[1], phase = c[2], until_ms = tonumber(call('ZSCORE', E, id)), units = c[3], ticks = c[4] } or false
  end
  return calls[id] or nil
end
local function put_call(id, c)
  calls[id], call_changed[id] = c or false, true
end

local waiters, waiter_changed = {}, {}
local function find_waiter(id)
  if waiters[id] == nil then
    local w = load('w' .. id)
    waiters[id] = w
        and { id = id, owner = w[1], tenant = w[2], scope = w[3], order = w[4], seq = w[5], units = w[6], charge = w[7] }
      or false
  end
  return waiters[id] or nil
end
local function put_waiter(id, w)
  waiters[id], waiter_changed[id] = w or false, true
end

local assigned, assigned_changed = {}, {}
local function assigned_to(process)
  if not assigned[process] then assigned[process] = load('a' .. process) or {} end
  return assigned[process]
end

local function put(field, value)
  if value then call('HSET', S, field, value) else call('HDEL', S, field) end
end

local function save()
  for field in pairs(changed) do put(field, counts[field] > 0 and counts[field]) end
  for id in pairs(call_changed) do
    local c = calls[id]
    put('c' .. id, c and cmsgpack.pack({ c.owner, c.phase, c.units, c.ticks }))
    if c then call('ZADD', E, c.until_ms, id) else call('ZREM', E, id) end
  end
  for id in pairs(waiter_changed) do
    local w = waiters[id]
    put('w' .. id, w and cmsgpack.pack({ w.owner, w.tenant, w.scope, w.order, w.seq, w.units, w.charge }))
  end
  for process in pairs(assigned_changed) do
    local ids = assigned[process]
    put('a' .. process, next(ids) and cmsgpack.pack(ids))
  end
  call('HSET', S, 'm', cmsgpack.pack({ meta.run, meta.epoch, meta.recovering, meta.last, meta.skew, meta.seq, meta.virtual, meta.tokens, meta.retry_ms }),
    'O', cmsgpack.pack(owners))
  put('p', next(pauses) and cmsgpack.pack(pauses))
  -- State that no process uses expires, long after everything in it has ended.
  local keep = 604800000
  for _, limit in ipairs(limits) do keep = max(keep, 2 * limit.periodMs) end
  for k = 1, 4 do call('PEXPIRE', KEYS[k], keep) end
end
