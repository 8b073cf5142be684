-- Notes an invalidation in the log and publishes it.
--
-- KEYS      see log.lua
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the channel                  ARGV[3]   a text that no other caller sends, for a new generation
-- ARGV[4]   how many keys to remember    ARGV[5]   how many prefixes and tags to remember
-- ARGV[6..] the scopes: k: a key, p: a prefix, t: a tag
-- Reply: status, time, generation, sequence

--- @include ../../../redis/lua/deadline.lua
--- @include log.lua

local log = open_log(ARGV[3])
local sequence = log.sequence + 1
for i = 6, #ARGV do
  call('ZADD', string.sub(ARGV[i], 1, 2) == 'k:' and KEYS[2] or KEYS[3], sequence, ARGV[i])
end

-- Forgets the oldest; what is older than the floor may have been among them.
local function trim(key, max, floor)
  local excess = call('ZCARD', key) - tonumber(max)
  if excess <= 0 then return floor end
  local last = call('ZRANGE', key, excess - 1, excess - 1, 'WITHSCORES')
  call('ZREMRANGEBYRANK', key, 0, excess - 1)
  return math.max(floor, tonumber(last[2]))
end

local key_floor, scope_floor = trim(KEYS[2], ARGV[4], log.keyFloor), trim(KEYS[3], ARGV[5], log.scopeFloor)
call('HSET', KEYS[1], 'sequence', sequence, 'keyFloor', key_floor, 'scopeFloor', scope_floor,
  'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
call('PUBLISH', ARGV[2], string.format('%s %.0f %s', log.generation, sequence, table.concat(ARGV, ' ', 6)))
return cmsgpack.pack(RAN, clock, log.generation, sequence)
