-- The log of invalidations of one namespace.
--
-- KEYS[1]   a hash: generation, run, sequence, keyFloor, scopeFloor, how many members the next two sets have, and the
--           sequence at a time (halfSequence, halfUs) after which half of the time of the log begins; a field `format`
--           only in a later format
-- KEYS[2]   a sorted set of invalidated keys, by the sequence of the last invalidation
-- KEYS[3]   the same for prefixes and tags
-- KEYS[4]   a sorted set of how long proofs of readers hold (ms), by until when a reader may have such a proof (us)
--
-- The log has a generation, a unique id. It gets a new one whenever the log is missing, is incomplete because Redis
-- evicted a part of it, or was written by another server, which may not have received all of it.

-- A log that nobody uses expires after this time, and so does an invalidation, after half of it at the earliest.
--- @const LOG_MS = 604800000
-- How many invalidations are removed or returned at a time: Redis answers nobody else meanwhile.
--- @const PAGE = 1000

--- @include ../../../redis/lua/format.lua

if type(redis.pcall('HGET', KEYS[1], 'format')) == 'string' then return refuse_later(KEYS[1]) end

local function keep_log()
  for i = 1, 3 do call('PEXPIRE', KEYS[i], LOG_MS) end
end

-- Removes what is not younger than a sequence, or a page of it. Returns the floor, and whether there is more.
local function forget_until(key, sequence, floor)
  local old = call('ZCOUNT', key, '-inf', sequence)
  if old == 0 then return floor, false end
  call('ZREMRANGEBYRANK', key, 0, math.min(old, PAGE) - 1)
  return math.max(floor, sequence), old > PAGE
end

-- Half of the time of the log is over: what was recorded before that half is forgotten.
local function begin_half(log, before)
  local more_keys, more_scopes
  log.keyFloor, more_keys = forget_until(KEYS[2], before, log.keyFloor)
  log.scopeFloor, more_scopes = forget_until(KEYS[3], before, log.scopeFloor)
  call('HSET', KEYS[1], 'keyFloor', log.keyFloor, 'scopeFloor', log.scopeFloor,
    'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
  if not more_keys and not more_scopes then
    call('HSET', KEYS[1], 'halfSequence', log.sequence, 'halfUs', string.format('%.0f', clock))
  end
  keep_log()
end

local function open_log(nonce, refused)
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  -- Keys of another type were not written by a cache: the log is missing.
  local fields = redis.pcall('HMGET', KEYS[1], 'generation', 'run', 'sequence', 'keyFloor', 'scopeFloor', 'keys',
    'scopes', 'halfSequence', 'halfUs')
  if fields[1] and fields[1] ~= refused and fields[2] == run and tonumber(fields[6]) == redis.pcall('ZCARD', KEYS[2])
    and tonumber(fields[7]) == redis.pcall('ZCARD', KEYS[3]) and fields[9] then
    local log = {
      generation = fields[1], sequence = tonumber(fields[3]),
      keyFloor = tonumber(fields[4]), scopeFloor = tonumber(fields[5]),
    }
    if clock - tonumber(fields[9]) > LOG_MS * 500 then begin_half(log, tonumber(fields[8])) end
    return log
  end
  call('DEL', KEYS[1], KEYS[2], KEYS[3])
  local generation = string.format('%s-%.0f-%s', string.sub(run, 1, 8), clock, nonce)
  call('HSET', KEYS[1], 'generation', generation, 'run', run, 'sequence', 0, 'keyFloor', 0, 'scopeFloor', 0,
    'keys', 0, 'scopes', 0, 'halfSequence', 0, 'halfUs', string.format('%.0f', clock))
  keep_log()
  return { generation = generation, sequence = 0, keyFloor = 0, scopeFloor = 0 }
end
