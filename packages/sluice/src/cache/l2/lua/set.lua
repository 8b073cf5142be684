-- Invalidates keys and stores what producers wrote, in one step. All keys must be on one node.
--
-- KEYS[1-4] see log.lua
-- KEYS[5..] pairs of the key of a value and the key of its fill lock
-- ARGV[1]   see deadline.lua
-- ARGV[2-5] see bump.lua
-- ARGV[6..] for each pair the scope of the key; the copy, without a generation (format, -, 0, 0, ... apart by blanks,
--           then a line feed and the value); how long it is kept (ms), 0 for no expiry
-- Reply: status, time, generation, sequence

--- @include ../../../redis/lua/deadline.lua
--- @include note.lua
--- @include dated.lua

local scopes = {}
for i = 6, #ARGV, 3 do scopes[i / 3 - 1] = ARGV[i] end
local log = open_log(ARGV[3])
local sequence = note(log, scopes, ARGV[4], ARGV[5], ARGV[2])
local stamp = string.format('%s %.0f %.0f', log.generation, sequence, sequence)
for i = 1, #scopes do
  local value, lock, copy, keep_ms = KEYS[3 + i * 2], KEYS[4 + i * 2], ARGV[4 + i * 3], ARGV[5 + i * 3]
  local stored = dated .. string.sub(copy, 1, 2) .. stamp .. string.sub(copy, 8)
  call('DEL', lock)
  if keep_ms == '0' then call('SET', value, stored) else call('SET', value, stored, 'PX', keep_ms) end
end
return cmsgpack.pack(RAN, clock, log.generation, sequence)
