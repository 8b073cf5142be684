-- Extends a claim, or releases it.
--
-- KEYS[1]   the key of the claim
-- ARGV[1]   see deadline.lua
-- ARGV[2]   its token
-- ARGV[3]   how long it is held from now (ms); 0 gives it back
-- Reply: status, time, 1 if it was ours, else 0

--- @include ../../../redis/lua/deadline.lua

if call('GET', KEYS[1]) ~= ARGV[2] then return cmsgpack.pack(RAN, clock, 0) end
if ARGV[3] == '0' then call('DEL', KEYS[1]) else call('PEXPIRE', KEYS[1], ARGV[3]) end
return cmsgpack.pack(RAN, clock, 1)
