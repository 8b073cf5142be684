-- Claims the right to fill a key, unless a copy is there.
--
-- KEYS[1]   the key of the value     KEYS[2]   the key of its claim
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the token of the claim   ARGV[3]   how long it is held (ms)
-- ARGV[4]   the first 16 characters of a copy that counts as none; empty for no such copy
-- Reply: status, time, then STORED and the copy, or GRANTED, or HELD and for how long another process still has the
-- claim (ms)

--- @const STORED = 0
--- @const GRANTED = 1
--- @const HELD = 2
--- @include ../../../redis/lua/deadline.lua

-- A key of another type was not written by a cache: it counts as none, and the value that is stored replaces it.
local copy = redis.pcall('GET', KEYS[1])
if type(copy) == 'string' and string.sub(copy, 1, 16) ~= ARGV[4] then return cmsgpack.pack(RAN, clock, STORED, copy) end
if call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then return cmsgpack.pack(RAN, clock, GRANTED) end
return cmsgpack.pack(RAN, clock, HELD, call('PTTL', KEYS[2]))
