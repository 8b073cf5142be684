-- Stores the report of one process, or removes it, and takes the actions that wait for the process.
--
-- KEYS[1]   the reports of a service: a hash with `d:<replica>` (the report), `t:<replica>` (when it came, in us) and
--           `c:<replica>` (actions that wait, see order.lua: until when, in us, id and text of each);
--           `pruned` is when expired ones were last removed
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   the replica
-- ARGV[3]   the report as text; empty to remove it
-- ARGV[4]   the TTL of a report, in ms
--
-- Reply: status, time, 1 once per TTL of the service (its turn to be listed, see services.lua) else 0, how many actions
-- follow, then id and text of each.

--- @include ../../redis/lua/deadline.lua

local key, replica, text, ttl = KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if text == '' then
  call('HDEL', key, 'd:' .. replica, 't:' .. replica, 'c:' .. replica)
  return cmsgpack.pack(RAN, clock, 0, 0)
end

call('HSET', key, 'd:' .. replica, text, 't:' .. replica, string.format('%.0f', clock))
-- A search for expired reports reads every replica, so it runs once per TTL and not with every report.
local pruned = tonumber(call('HGET', key, 'pruned') or '') or 0
local is_turn = clock - pruned > ttl * 1000 or clock < pruned
if is_turn then
  call('HSET', key, 'pruned', string.format('%.0f', clock))
  for _, field in ipairs(call('HKEYS', key)) do
    -- Versions without actions leave a `c:` behind when they remove a report.
    local other = string.match(field, '^[tc]:(.*)$')
    if other and clock - (tonumber(call('HGET', key, 't:' .. other) or '') or 0) > ttl * 1000 then
      call('HDEL', key, 't:' .. other, 'd:' .. other, 'c:' .. other)
    end
  end
end
call('PEXPIRE', key, ttl)

local taken = {}
local stored = call('HGET', key, 'c:' .. replica)
if stored then
  -- Removed before anything is done with them: an action runs at most once.
  call('HDEL', key, 'c:' .. replica)
  for _, each in ipairs(cmsgpack.unpack(stored)) do
    if each[1] >= clock then
      taken[#taken + 1] = each[2]
      taken[#taken + 1] = each[3]
    end
  end
end
return cmsgpack.pack(RAN, clock, is_turn and 1 or 0, #taken / 2, unpack(taken))
