-- Stores a copy and ends the claim.
--
-- KEYS[1]   the key of the value     KEYS[2]   the key of its claim
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the token of the claim; empty for a producer, who needs none
-- ARGV[3]   the copy: format, generation, sequence, ... apart by blanks, then a line feed and the value
-- ARGV[4]   how long it is kept (ms); 0 for ever
-- ARGV[5]   its generation           ARGV[6]   its sequence
-- Reply: status, time, 1 if it was stored, 0 if the claim was lost or a producer stored something later

--- @include ../../../redis/lua/deadline.lua

if ARGV[2] ~= '' then
  if call('GET', KEYS[2]) ~= ARGV[2] then return cmsgpack.pack(RAN, clock, 0) end
else
  local copy = redis.pcall('GETRANGE', KEYS[1], 16, 200)
  if type(copy) == 'string' then
    local generation, sequence = string.match(copy, '^%d (%S+) (%d+) ')
    if generation == ARGV[5] and tonumber(sequence) > tonumber(ARGV[6]) then return cmsgpack.pack(RAN, clock, 0) end
  end
end
call('DEL', KEYS[2])
local copy = string.format('%016.0f', clock) .. ARGV[3]
if ARGV[4] == '0' then call('SET', KEYS[1], copy) else call('SET', KEYS[1], copy, 'PX', ARGV[4]) end
return cmsgpack.pack(RAN, clock, 1)
