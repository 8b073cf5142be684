-- The log of invalidations of one namespace.
--
-- KEYS[1]   a hash: generation, run, sequence, keyFloor, scopeFloor, and how many members the two sets have
-- KEYS[2]   a sorted set of invalidated keys, by the sequence of the last invalidation
-- KEYS[3]   the same for prefixes and tags
--
-- The log has a generation, a unique id. It gets a new one whenever the log is missing, is incomplete because Redis
-- evicted a part of it, or was written by another server, which may not have received all of it.

local function open_log(nonce, refused)
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  local fields = call('HMGET', KEYS[1], 'generation', 'run', 'sequence', 'keyFloor', 'scopeFloor', 'keys', 'scopes')
  if fields[1] and fields[1] ~= refused and fields[2] == run and tonumber(fields[6]) == call('ZCARD', KEYS[2])
    and tonumber(fields[7]) == call('ZCARD', KEYS[3]) then
    return {
      generation = fields[1], sequence = tonumber(fields[3]),
      keyFloor = tonumber(fields[4]), scopeFloor = tonumber(fields[5]),
    }
  end
  call('DEL', KEYS[1], KEYS[2], KEYS[3])
  local generation = string.format('%s-%.0f-%s', string.sub(run, 1, 8), clock, nonce)
  call('HSET', KEYS[1], 'generation', generation, 'run', run, 'sequence', 0, 'keyFloor', 0, 'scopeFloor', 0,
    'keys', 0, 'scopes', 0)
  return { generation = generation, sequence = 0, keyFloor = 0, scopeFloor = 0 }
end
