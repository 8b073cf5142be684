-- Renews a process, and finds those that have died.
--
-- KEYS[1]   a sorted set of processes, by when they expire (us)
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the process        ARGV[3]   its TTL from now (us)
-- ARGV[4]   1 for the first beat of a process
-- Reply: status, time, 1 if it is alive, 0 if it was declared dead: its members are being removed, so it stays dead;
-- the dead processes, and when the next of the others expires (us; 0 for none)

--- @include ../../redis/lua/deadline.lua

local untilUs = call('ZSCORE', KEYS[1], ARGV[2])
local lives = ARGV[4] == '1' or (untilUs and tonumber(untilUs) > clock)
if lives then call('ZADD', KEYS[1], string.format('%.0f', clock + tonumber(ARGV[3])), ARGV[2]) end
local dead = call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', clock), 'LIMIT', 0, 16)
local next = call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', clock), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return cmsgpack.pack(RAN, clock, lives and 1 or 0, dead, tonumber(next[2] or 0))
