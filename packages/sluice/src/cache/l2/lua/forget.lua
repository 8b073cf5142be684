-- Removes values and their fill locks, so that what is being fetched for them now is not stored.
--
-- KEYS      pairs of the key of a value and the key of its fill lock
-- ARGV      see deadline.lua
-- Reply: status, time

--- @const ENDED_MS = 1000
--- @include ../../../redis/lua/deadline.lua

local locks = {}
for i = 2, #KEYS, 2 do locks[i / 2] = KEYS[i] end
local tokens = call('MGET', unpack(locks))
call('UNLINK', unpack(KEYS))
-- No process may fetch between the steps of a set, see begin-set.lua: the set ends, and then begins again.
for i, token in ipairs(tokens) do
  if token and string.sub(token, 1, 4) == 'set.' then call('SET', locks[i], 'set.ended', 'PX', ENDED_MS) end
end
return cmsgpack.pack(RAN, clock)
