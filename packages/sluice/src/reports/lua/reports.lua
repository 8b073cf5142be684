-- Reads the reports of a service that have not expired.
--
-- KEYS[1]   the reports, see report.lua
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   the TTL of a report, in ms
-- ARGV[3]   how many are read at most
--
-- Reply: status, time, how many there are, how many follow, then for each its age in ms and its text.

--- @include ../../redis/lua/deadline.lua

local key, ttl, most = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local found, alive = {}, 0
for _, field in ipairs(call('HKEYS', key)) do
  local replica = string.match(field, '^t:(.*)$')
  local age = replica and (clock - (tonumber(call('HGET', key, field)) or 0)) / 1000
  if age and age <= ttl then
    alive = alive + 1
    if alive <= most then
      found[#found + 1] = math.max(0, math.floor(age))
      found[#found + 1] = call('HGET', key, 'd:' .. replica) or ''
    end
  end
end
return cmsgpack.pack(RAN, clock, alive, #found / 2, unpack(found))
