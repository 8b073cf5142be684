-- Reads how all partitions stand.
--
-- KEYS[1]   see claim.lua
-- ARGV      see deadline.lua
-- Reply: status, time, and pairs of a partition and its entry

--- @include ../../redis/lua/deadline.lua

return cmsgpack.pack(RAN, clock, call('HGETALL', KEYS[1]))
