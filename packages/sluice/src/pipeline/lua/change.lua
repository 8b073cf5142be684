-- Changes the entry of a partition, unless it has another owner.
--
-- KEYS[1]   see claim.lua
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the partition
-- ARGV[3]   the epoch of the owner
-- ARGV[4]   for how long the claim is extended (us); '' leaves it, '0' releases it
-- ARGV[5]   the fields to change, as JSON
-- ARGV[6]   how long the hash is kept without a change (ms)
-- Reply: status, time, 1 when it was changed

--- @include ../../redis/lua/deadline.lua

local text = call('HGET', KEYS[1], ARGV[2])
local entry = text and cjson.decode(text)
if not entry or entry.epoch ~= tonumber(ARGV[3]) then return cmsgpack.pack(RAN, clock, 0) end
if ARGV[4] == '0' then
  entry.owner = nil
elseif ARGV[4] ~= '' then
  entry.untilUs = clock + ARGV[4]
end
for name, value in pairs(cjson.decode(ARGV[5])) do
  if value == cjson.null then value = nil end
  entry[name] = value
end
call('HSET', KEYS[1], ARGV[2], cjson.encode(entry))
call('PEXPIRE', KEYS[1], ARGV[6])
return cmsgpack.pack(RAN, clock, 1)
