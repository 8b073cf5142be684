-- Leaves an action for a process to do; it takes it with its next report.
--
-- KEYS[1]   the reports, see report.lua
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   the replica
-- ARGV[3]   the id of the action
-- ARGV[4]   the action as text
-- ARGV[5]   the TTL of a report, in ms: how long the action waits
-- ARGV[6]   how many may wait
--
-- Reply: status, time, then `waiting` and the id, which is that of the same action if it waits already; `absent` when
-- the replica does not report; `full` when too many wait.

--- @include ../../redis/lua/deadline.lua

local key, replica, id, text, ttl = KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] * 1000
if clock - (tonumber(call('HGET', key, 't:' .. replica) or '') or 0) > ttl then
  return cmsgpack.pack(RAN, clock, 'absent', '')
end

local waiting = {}
local stored = call('HGET', key, 'c:' .. replica)
for _, each in ipairs(stored and cmsgpack.unpack(stored) or {}) do
  if each[1] >= clock then
    if each[3] == text then
      return cmsgpack.pack(RAN, clock, 'waiting', each[2])
    end
    waiting[#waiting + 1] = each
  end
end
if #waiting >= ARGV[6] + 0 then
  return cmsgpack.pack(RAN, clock, 'full', '')
end
waiting[#waiting + 1] = { clock + ttl, id, text }
call('HSET', key, 'c:' .. replica, cmsgpack.pack(waiting))
return cmsgpack.pack(RAN, clock, 'waiting', id)
