-- The processes that wait for units of the same subjects: each says how many wait in it and since when, and learns the
-- same of the others. Nobody is woken through it; see limiter/wait.
--
-- KEYS[1]   the line, a hash: process -> { end of the entry (us), then waits }
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   this process
-- ARGV[3]   for how long its entry counts (ms)
-- ARGV[4..] its waits, as pairs: units up to and with a waiter, and how long that one has waited (us). None: it leaves
-- Reply: status, time, and one list of such pairs for each other process

--- @include ../../../redis/lua/deadline.lua

local me, ms, others = ARGV[2], ARGV[3] + 0, {}
local fields = call('HGETALL', KEYS[1])
for f = 1, #fields, 2 do
  if fields[f] ~= me then
    local entry = cmsgpack.unpack(fields[f + 1])
    if entry[1] <= clock then
      call('HDEL', KEYS[1], fields[f])
    else
      local waits = {}
      for w = 2, #entry, 2 do waits[w - 1], waits[w] = entry[w], clock - entry[w + 1] end
      others[#others + 1] = waits
    end
  end
end
if ARGV[4] then
  local entry = { clock + ms * 1000 }
  for a = 4, #ARGV, 2 do entry[#entry + 1], entry[#entry + 2] = ARGV[a] + 0, clock - ARGV[a + 1] end
  call('HSET', KEYS[1], me, cmsgpack.pack(entry))
  if call('PTTL', KEYS[1]) < ms then call('PEXPIRE', KEYS[1], ms) end
else
  call('HDEL', KEYS[1], me)
end
return cmsgpack.pack(RAN, clock, others)
