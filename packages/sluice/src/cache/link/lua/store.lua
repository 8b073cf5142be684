-- Stores a copy and ends the claim.
--
-- KEYS[1]   the key of the value     KEYS[2]   the key of its claim
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the token of the claim
-- ARGV[3]   the copy: format, generation, sequence, ... apart by blanks, then a line feed and the value
-- ARGV[4]   how long it is kept (ms); 0 for no expiry
-- ARGV[5]   the generation of what a producer set, empty for what was fetched    ARGV[6]   its sequence
-- Reply: status, time, 1 if it was stored, 0 if the claim was lost

--- @include ../../../redis/lua/deadline.lua

local token = call('GET', KEYS[2])
if token ~= ARGV[2] then
  if token == 'set.ended' and ARGV[5] ~= '' then call('DEL', KEYS[2]) end
  -- What a producer announced replaces what others stored before, also where it cannot be stored itself.
  local copy = ARGV[5] ~= '' and redis.pcall('GETRANGE', KEYS[1], 16, 200)
  if type(copy) == 'string' then
    local generation, sequence = string.match(copy, '^%d (%S+) (%d+) ')
    if generation ~= ARGV[5] or tonumber(sequence) < tonumber(ARGV[6]) then call('UNLINK', KEYS[1]) end
  end
  return cmsgpack.pack(RAN, clock, 0)
end
call('DEL', KEYS[2])
local copy = string.format('%016.0f', clock) .. ARGV[3]
if ARGV[4] == '0' then call('SET', KEYS[1], copy) else call('SET', KEYS[1], copy, 'PX', ARGV[4]) end
return cmsgpack.pack(RAN, clock, 1)
