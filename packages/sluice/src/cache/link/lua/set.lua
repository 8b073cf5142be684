-- Invalidates a key and stores what a producer wrote, in one step. All keys must be on one node.
--
-- KEYS[1-3] see log.lua
-- KEYS[4]   the key of the value         KEYS[5]   the key of its fill lock
-- ARGV[1]   see deadline.lua
-- ARGV[2-5] see bump.lua
-- ARGV[6]   the scope of the key
-- ARGV[7]   the copy, without a generation: format, -, 0, ... apart by blanks, then a line feed and the value
-- ARGV[8]   how long it is kept (ms); 0 for no expiry
-- Reply: status, time, generation, sequence

--- @include ../../../redis/lua/deadline.lua
--- @include note.lua

local log = open_log(ARGV[3])
local sequence = note(log, { ARGV[6] }, ARGV[4], ARGV[5], ARGV[2])
local stamp = string.format('%s %.0f', log.generation, sequence)
local copy = string.format('%016.0f', clock) .. string.sub(ARGV[7], 1, 2) .. stamp .. string.sub(ARGV[7], 6)
call('DEL', KEYS[5])
if ARGV[8] == '0' then call('SET', KEYS[4], copy) else call('SET', KEYS[4], copy, 'PX', ARGV[8]) end
return cmsgpack.pack(RAN, clock, log.generation, sequence)
