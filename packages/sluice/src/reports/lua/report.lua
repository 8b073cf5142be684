-- Stores the report of one process, or removes it.
--
-- KEYS[1]   the reports of a service: a hash with `d:<replica>` (the report) and `t:<replica>` (when it came, in us);
--           `pruned` is when expired ones were last removed
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   the replica
-- ARGV[3]   the report as text; empty to remove it
-- ARGV[4]   the TTL of a report, in ms
--
-- Reply: status, time.

--- @include ../../redis/lua/deadline.lua

local key, replica, text, ttl = KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if text == '' then
  call('HDEL', key, 'd:' .. replica, 't:' .. replica)
  return cmsgpack.pack(RAN, clock)
end

call('HSET', key, 'd:' .. replica, text, 't:' .. replica, string.format('%.0f', clock))
-- A search for expired reports reads every replica, so it runs once per TTL and not with every report.
local pruned = tonumber(call('HGET', key, 'pruned') or '') or 0
if clock - pruned > ttl * 1000 or clock < pruned then
  call('HSET', key, 'pruned', string.format('%.0f', clock))
  for _, field in ipairs(call('HKEYS', key)) do
    local other = string.match(field, '^t:(.*)$')
    if other and clock - (tonumber(call('HGET', key, field)) or 0) > ttl * 1000 then
      call('HDEL', key, field, 'd:' .. other)
    end
  end
end
call('PEXPIRE', key, ttl)
return cmsgpack.pack(RAN, clock)
