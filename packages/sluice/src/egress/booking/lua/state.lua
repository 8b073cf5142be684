-- The state of an upstream, read. See state.ts. Times are in microseconds. Fields of the hash:
--   m                  the marker of the Redis run that wrote it, and all single numbers; the format of them all, see
--                      redis/lua/format.lua
--   O p D u            processes; pauses by scope; whose turn it is; units that wait
--   l<limit>           its log: total, since, mirrored, flat triples (arrives, units, least), full
--   g<process>         its grants by name
--   w<id>              a call that waits, or whose turn it is
--   n<caller>          its tag, how many of it wait, virtual time of its tenants
--   N<caller> NUL <tenant>   its tag, how many of it wait

local S, Q = KEYS[1], KEYS[2]
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local asked = cjson.decode(ARGV[2])
local owner, rules = asked.owner, asked.rules

local function load(field)
  local packed = call('HGET', S, field)
  return packed and cmsgpack.unpack(packed) or nil
end
local function put(field, value)
  if value then call('HSET', S, field, cmsgpack.pack(value)) else call('HDEL', S, field) end
end
local function whole(number) return string.format('%.0f', number) end

local META = {
  'run', 'marker', 'time', 'verified', 'offset', 'epoch', 'raw', 'wall', 'start', 'open', 'seq', 'numbers', 'long',
  'widened', 'widened_until', 'tokens', 'retry', 'waiting', 'tenants', 'virtual', 'limits', 'lost',
}
local meta, is_new, has_state = {}, false, false
if is_later(call('HGET', S, 'm')) then return refuse_later(S) end
do
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  local m = load('m')
  has_state = m ~= nil
  if m then for at, name in ipairs(META) do meta[name] = m[at] end end
  if meta.run ~= run then
    -- Another server, or one that lost its data: the latest changes may be missing. What is left of the logs is kept.
    is_new = true
    meta.kept = m and meta.time or 0
    if not m then meta = { kept = 0, time = clock, verified = clock, offset = 0, lost = 0, epoch = 0, raw = clock, wall = asked.wallMs } end
    meta.run, meta.marker = run, string.sub(run, 1, 6) .. string.format('%x', floor(clock / 1000))
    for _, name in ipairs({ 'seq', 'numbers', 'long', 'widened', 'widened_until', 'tokens', 'waiting', 'tenants', 'virtual', 'limits' }) do meta[name] = 0 end
  end
end

local owners, pauses, due, queued = load('O') or {}, load('p') or {}, load('D') or {}, load('u') or {}

local grants_of, grants_changed = {}, {}
local function grants(process)
  if not grants_of[process] then grants_of[process] = load('g' .. process) or {} end
  return grants_of[process]
end

local function save()
  local m = {}
  for at, name in ipairs(META) do m[at] = meta[name] end
  call('HSET', S, 'm', cmsgpack.pack(m), 'O', cmsgpack.pack(owners), 'D', cmsgpack.pack(due), 'u', cmsgpack.pack(queued))
  put('p', next(pauses) and pauses)
  for process in pairs(grants_changed) do put('g' .. process, next(grants_of[process]) and grants_of[process]) end
end
