-- Removes values and their claims, so that what is being fetched for them now is not stored.
--
-- KEYS      keys of values and of claims
-- ARGV      see deadline.lua
-- Reply: status, time

--- @include ../../../redis/lua/deadline.lua

call('UNLINK', unpack(KEYS))
return cmsgpack.pack(RAN, clock)
