-- Removes some of the members of a channel that were in a process that died.
--
-- KEYS      see join.lua
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the process            ARGV[3]   where to publish
-- ARGV[4]   where to continue        ARGV[5]   how many to look at
-- Reply: status, time, where to continue; 0 when there is no more

--- @include ../../redis/lua/deadline.lua
--- @include remove.lua

local page = call('HSCAN', KEYS[1], ARGV[4], 'COUNT', ARGV[5])
for i = 1, #page[2], 2 do remove(page[2][i], page[2][i + 1]) end
if page[1] == '0' then call('HDEL', KEYS[2], ARGV[2]) end
return cmsgpack.pack(RAN, clock, page[1])
