-- Records an invalidation in the log, publishes it, and returns its sequence. See log.lua for KEYS.

--- @include log.lua

-- Removes the oldest; anything older than the floor may have been among them.
local function trim(key, max, floor)
  local excess = call('ZCARD', key) - tonumber(max)
  if excess <= 0 then return floor end
  local last = call('ZRANGE', key, excess - 1, excess - 1, 'WITHSCORES')
  call('ZREMRANGEBYRANK', key, 0, excess - 1)
  return math.max(floor, tonumber(last[2]))
end

local function note(log, scopes, max_keys, max_scopes, channel)
  local sequence = log.sequence + 1
  for _, scope in ipairs(scopes) do
    call('ZADD', string.sub(scope, 1, 2) == 'k:' and KEYS[2] or KEYS[3], sequence, scope)
  end
  local key_floor, scope_floor = trim(KEYS[2], max_keys, log.keyFloor), trim(KEYS[3], max_scopes, log.scopeFloor)
  call('HSET', KEYS[1], 'sequence', sequence, 'keyFloor', key_floor, 'scopeFloor', scope_floor,
    'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
  keep_log()
  call('PUBLISH', channel, string.format('%s %.0f %s', log.generation, sequence, table.concat(scopes, ' ')))
  return sequence
end
