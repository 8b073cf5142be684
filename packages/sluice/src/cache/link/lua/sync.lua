-- Returns what happened since a position of the log.
--
-- KEYS      see log.lua
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the generation of the position; empty for none
-- ARGV[3]   its sequence
-- ARGV[4]   a text that no other caller sends, for a new generation
-- ARGV[5]   a generation that is replaced by a new one, if the log has it; empty for none
-- Reply: status, time, generation, sequence, the sequence from which the changes continue (-1: they are all that
-- the log has), keyFloor, scopeFloor, and the changes: scope, sequence, scope, sequence, ...

--- @include ../../../redis/lua/deadline.lua
--- @include log.lua

local log = open_log(ARGV[4], ARGV[5])
local since = tonumber(ARGV[3])
if ARGV[2] ~= log.generation or since < log.keyFloor or since < log.scopeFloor then since = -1 end
local changes = {}
if since < log.sequence then
  for _, key in ipairs({ KEYS[2], KEYS[3] }) do
    local found = call('ZRANGEBYSCORE', key, '(' .. since, '+inf', 'WITHSCORES')
    for i = 1, #found, 2 do
      changes[#changes + 1] = found[i]
      changes[#changes + 1] = tonumber(found[i + 1])
    end
  end
end
return cmsgpack.pack(RAN, clock, log.generation, log.sequence, since, log.keyFloor, log.scopeFloor, changes)
