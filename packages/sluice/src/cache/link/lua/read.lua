-- Reads stored copies.
--
-- KEYS      the keys of values
-- ARGV      see deadline.lua
-- Reply: status, time, and for each key its copy (16 digits of the time it was stored at, then what was stored), nil for none

--- @include ../../../redis/lua/deadline.lua

local values = call('MGET', unpack(KEYS))
local parts = { cmsgpack.pack(RAN, clock) }
for i = 1, #KEYS do
  parts[i + 1] = values[i] and cmsgpack.pack(values[i]) or '\192'
end
return table.concat(parts)
