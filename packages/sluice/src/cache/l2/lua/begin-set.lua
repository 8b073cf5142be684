-- The first step of set.lua where the log is on another node: takes the fill lock of the key from its holder. Any other
-- change of the key before end-set.lua ends this lock.
--
-- KEYS[1]   the key of the value     KEYS[2]   the key of its fill lock
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the token of the lock    ARGV[3]   how long it is held (ms)
-- Reply: status, time

--- @include ../../../redis/lua/deadline.lua

call('UNLINK', KEYS[1])
call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return cmsgpack.pack(RAN, clock)
