-- Records that data sources are fresh.
--
-- KEYS[1]   a hash: source -> until when it is fresh (us) and since when it is reported
-- ARGV[1]   see deadline.lua
-- ARGV[2..] pairs of a source and its TTL (us)
-- Reply: status, time

--- @include ../../redis/lua/deadline.lua

for i = 2, #ARGV, 2 do
  call('HSET', KEYS[1], ARGV[i], string.format('%.0f %.0f', clock, clock + tonumber(ARGV[i + 1])))
end
return cmsgpack.pack(RAN, clock)
