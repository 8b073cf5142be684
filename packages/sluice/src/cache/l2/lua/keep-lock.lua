-- Extends a fill lock, or releases it.
--
-- KEYS[1]   the key of the fill lock
-- ARGV[1]   see deadline.lua
-- ARGV[2]   its token
-- ARGV[3]   how long it is held from now (ms); 0 releases it
-- ARGV[4]   the channel              ARGV[5]   the key of the value
-- Reply: status, time, 1 if it was ours, else 0

--- @include ../../../redis/lua/deadline.lua
--- @include lock.lua

local token, awaited = holder_of(KEYS[1])
if token ~= ARGV[2] then return cmsgpack.pack(RAN, clock, 0) end
if ARGV[3] == '0' then unlock(KEYS[1], awaited, ARGV[4], ARGV[5]) else call('PEXPIRE', KEYS[1], ARGV[3]) end
return cmsgpack.pack(RAN, clock, 1)
