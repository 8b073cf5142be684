-- Returns the members of a channel.
--
-- KEYS      see join.lua
-- ARGV[1]   see deadline.lua
-- ARGV[2]   1 for all members, 0 for how many
-- Reply: status, time, how many members are recorded, the processes that have some of them, and pairs of a member and
-- where it is

--- @include ../../redis/lua/deadline.lua

local all = ARGV[2] == '1' and call('HGETALL', KEYS[1]) or {}
return cmsgpack.pack(RAN, clock, call('HLEN', KEYS[1]), call('HKEYS', KEYS[2]), all)
