-- Sends a message to the subscribers of a channel, and keeps it for those who come back.
--
-- KEYS[1]   a stream of the last messages
-- ARGV[1]   see deadline.lua
-- ARGV[2]   where to publish        ARGV[3]   the message
-- ARGV[4]   how many are kept       ARGV[5]   for how long after the last one (ms)
-- Reply: status, time, the id of the message

--- @include ../../redis/lua/deadline.lua

local id = call('XADD', KEYS[1], 'MAXLEN', ARGV[4], '*', 'message', ARGV[3])
call('PEXPIRE', KEYS[1], ARGV[5])
call('PUBLISH', ARGV[2], id .. ' ' .. ARGV[3])
return cmsgpack.pack(RAN, clock, id)
