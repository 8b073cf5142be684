-- Returns the processes that are alive.
--
-- KEYS[1]   see beat.lua
-- ARGV      see deadline.lua
-- Reply: status, time, the processes

--- @include ../../redis/lua/deadline.lua

return cmsgpack.pack(RAN, clock, call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', clock), '+inf'))
