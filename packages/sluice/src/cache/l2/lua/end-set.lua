-- The last step of set.lua where the log is on another node: stores what a producer wrote and ends its lock.
--
-- KEYS[1]   the key of the value     KEYS[2]   the key of its fill lock
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the token of the lock    ARGV[3]   the channel
-- ARGV[4]   the copy                 ARGV[5]   how long it is kept (ms); 0 for no expiry
-- ARGV[6]   its generation           ARGV[7]   its sequence
-- Reply: status, time, 1 if it was stored, 0 if the lock was lost

--- @include ../../../redis/lua/deadline.lua
--- @include lock.lua
--- @include dated.lua

local token, awaited = holder_of(KEYS[2])
if token ~= ARGV[2] then
  if token == 'set.ended' then unlock(KEYS[2], awaited, ARGV[3], KEYS[1]) end
  -- What a producer announced replaces what others stored before, also where it cannot be stored itself.
  local copy = redis.pcall('GETRANGE', KEYS[1], 32, 232)
  if type(copy) == 'string' then
    local generation, sequence = string.match(copy, '^%d (%S+) (%d+) ')
    if generation ~= ARGV[6] or tonumber(sequence) < tonumber(ARGV[7]) then call('UNLINK', KEYS[1]) end
  end
  return cmsgpack.pack(RAN, clock, 0)
end
local copy = dated .. ARGV[4]
if ARGV[5] == '0' then call('SET', KEYS[1], copy) else call('SET', KEYS[1], copy, 'PX', ARGV[5]) end
unlock(KEYS[2], awaited, ARGV[3], KEYS[1])
return cmsgpack.pack(RAN, clock, 1)
