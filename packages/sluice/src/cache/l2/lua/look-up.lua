-- Reads stored copies; takes the fill lock of keys that have none, unless another process has it.
--
-- KEYS      pairs of the key of a value and the key of its fill lock
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the token of the locks     ARGV[3]   how long they are held (ms)
-- ARGV[4..] for each pair the first 16 bytes of a copy that counts as none; empty for no such copy; - to take no lock
-- Reply: status, time, one number for each pair (the length of its copy; LOCKED; NONE for neither copy nor lock; HELD
-- less the milliseconds for which another process still has the lock), and then the bytes of all copies one after
-- another: each has twice 16 digits of the time it was stored at, then what was stored

--- @const LOCKED = -1
--- @const NONE = -2
--- @const HELD = -3
--- @include ../../../redis/lua/deadline.lua

local results, copies = {}, {}
for i = 1, #KEYS, 2 do
  local at = (i + 1) / 2
  local rejected = ARGV[at + 3]
  -- A key of another type was not written by a cache: it counts as none, and the value that is stored replaces it.
  local copy = redis.pcall('GET', KEYS[i])
  if type(copy) == 'string' and string.sub(copy, 1, 16) ~= rejected then
    results[at] = #copy
    copies[#copies + 1] = copy
  elseif rejected == '-' then
    results[at] = NONE
  elseif call('SET', KEYS[i + 1], ARGV[2], 'NX', 'PX', ARGV[3])
    -- A lock without an expiry was not taken by a cache.
    or call('PTTL', KEYS[i + 1]) == -1 and call('SET', KEYS[i + 1], ARGV[2], 'PX', ARGV[3]) then
    results[at] = LOCKED
  else
    results[at] = HELD - math.max(0, call('PTTL', KEYS[i + 1]))
    -- The holder wakes those who wait, see lock.lua.
    local token = redis.pcall('GET', KEYS[i + 1])
    if type(token) == 'string' and string.sub(token, -1) ~= '+' then call('APPEND', KEYS[i + 1], '+') end
  end
end
return cmsgpack.pack(RAN, clock, results) .. table.concat(copies)
