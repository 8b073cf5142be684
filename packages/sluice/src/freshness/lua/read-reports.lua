-- Reads how fresh the data sources are.
--
-- KEYS[1]   see report.lua
-- ARGV      see deadline.lua
-- Reply: status, time, and pairs of a source and its report

--- @include ../../redis/lua/deadline.lua

return cmsgpack.pack(RAN, clock, call('HGETALL', KEYS[1]))
