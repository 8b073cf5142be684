-- Stores copies of what was fetched, ends their fill locks, and wakes those who wait.
--
-- KEYS      pairs of the key of a value and the key of its fill lock
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the channel
-- ARGV[3..] for each pair the token of the lock; the copy (format, generation, sequence, ... apart by blanks, then a
--           line feed and the value); how long it is kept (ms), 0 for no expiry
-- Reply: status, time, for each pair 1 if it was stored, 0 if the lock was lost

--- @include ../../../redis/lua/deadline.lua
--- @include lock.lua
--- @include dated.lua

local stored = {}
for i = 1, #KEYS, 2 do
  local at = (i + 1) / 2
  local token, awaited = holder_of(KEYS[i + 1])
  if token == ARGV[at * 3] then
    local copy, keep_ms = dated .. ARGV[at * 3 + 1], ARGV[at * 3 + 2]
    if keep_ms == '0' then call('SET', KEYS[i], copy) else call('SET', KEYS[i], copy, 'PX', keep_ms) end
    unlock(KEYS[i + 1], awaited, ARGV[2], KEYS[i])
    stored[at] = 1
  else
    stored[at] = 0
  end
end
return cmsgpack.pack(RAN, clock, stored)
