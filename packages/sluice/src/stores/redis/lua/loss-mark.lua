-- Returns a number that stays the same for as long as this server, or who takes its place, has the data. It is lost
-- with them, and the next one is another.
--
-- KEYS[1]   the mark
-- ARGV      see deadline.lua
-- Reply: status, time, the mark

--- @include ../../../redis/lua/deadline.lua

-- Longer than any hold is renewed; every question puts it off.
--- @const MARK_MS = 864000000

local mark = tonumber(call('GET', KEYS[1]) or '')
if not mark then
  mark = clock
  call('SET', KEYS[1], string.format('%.0f', mark))
end
call('PEXPIRE', KEYS[1], MARK_MS)
return cmsgpack.pack(RAN, clock, mark)
