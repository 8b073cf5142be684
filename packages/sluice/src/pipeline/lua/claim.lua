-- Takes a partition that nobody owns, or whose owner did not extend its claim in time.
--
-- KEYS[1]   a hash: partition -> JSON { epoch, owner, untilUs, next, done, source }
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the partition
-- ARGV[3]   the worker
-- ARGV[4]   for how long (us)
-- ARGV[5]   how long the hash is kept without a change (ms)
-- Reply: status, time, and the entry as JSON; '' when another owns it

--- @include ../../redis/lua/deadline.lua

local text = call('HGET', KEYS[1], ARGV[2])
local entry = text and cjson.decode(text) or { epoch = 0, done = false }
if entry.owner and entry.untilUs > clock then return cmsgpack.pack(RAN, clock, '') end
entry.epoch = entry.epoch + 1
entry.owner = ARGV[3]
entry.untilUs = clock + ARGV[4]
text = cjson.encode(entry)
call('HSET', KEYS[1], ARGV[2], text)
call('PEXPIRE', KEYS[1], ARGV[5])
return cmsgpack.pack(RAN, clock, text)
