-- Removes members of a channel that are in one process.
--
-- KEYS      see join.lua
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the process            ARGV[3]   where to publish
-- ARGV[4..] the members
-- Reply: status, time

--- @include ../../redis/lua/deadline.lua
--- @include remove.lua

for i = 4, #ARGV do remove(ARGV[i], call('HGET', KEYS[1], ARGV[i])) end
return cmsgpack.pack(RAN, clock)
