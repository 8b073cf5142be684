-- Returns since when this server has kept everything that was written to it. The marker names the run of the server
-- that wrote it, so a server that was restarted, wiped or replaced by a replica is recognised.
--
-- KEYS[1]   the marker
-- ARGV      see deadline.lua
-- Reply: status, time, since when (us)

--- @include ../../../redis/lua/deadline.lua

-- Longer than any calendar period; when it expires, subjects are recounted once.
--- @const MARKER_SECONDS = 8640000

local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local since = string.match(call('GET', KEYS[1]) or '', '^' .. run .. ' (%d+)$')
if not since then
  since = string.format('%.0f', clock)
  call('SET', KEYS[1], run .. ' ' .. since, 'EX', MARKER_SECONDS)
end
return cmsgpack.pack(RAN, clock, tonumber(since))
