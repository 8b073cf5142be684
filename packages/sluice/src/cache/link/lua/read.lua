-- Reads stored copies.
--
-- KEYS      the keys of values
-- ARGV      see deadline.lua
-- Reply: status, time, the length of each copy (-1 for none), and then the bytes of all copies one after another: each
-- has twice 16 digits of the time it was stored at, then what was stored

--- @include ../../../redis/lua/deadline.lua

local copies = call('MGET', unpack(KEYS))
local lengths = {}
for i = 1, #KEYS do
  local copy = copies[i]
  if copy then
    lengths[i] = #copy
  else
    lengths[i] = -1
    copies[i] = ''
  end
end
return cmsgpack.pack(RAN, clock, lengths) .. table.concat(copies)
