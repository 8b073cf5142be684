-- Returns what happened since a position of the log: all, or the first of it.
--
-- KEYS      see log.lua
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the generation of the position; empty for none
-- ARGV[3]   its sequence
-- ARGV[4]   a text that no other caller sends, for a new generation
-- ARGV[5]   a generation that is replaced by a new one, if the log has it; empty for none
-- ARGV[6]   how long the proof holds that the caller has from this answer (ms)
-- Reply: status, time, generation, the sequence until which this answer goes, 1 if nothing happened after that, the
-- sequence from which the changes continue (-1: from the beginning of the log), keyFloor, scopeFloor, and the changes:
-- scope, sequence, scope, sequence, ...

--- @include ../../../redis/lua/deadline.lua
--- @include log.lua
--- @include longest-proof.lua

local log = open_log(ARGV[4], ARGV[5])
note_proof(ARGV[6])
local is_known = ARGV[2] == log.generation
local since = is_known and tonumber(ARGV[3]) or 0
local upto = log.sequence
if since < upto then
  for i = 2, 3 do
    local last = call('ZRANGEBYSCORE', KEYS[i], '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', PAGE - 1, 1)
    if last[2] then upto = math.min(upto, tonumber(last[2])) end
  end
end
local changes = {}
for i = 2, 3 do
  local found = since < upto and call('ZRANGEBYSCORE', KEYS[i], '(' .. since, upto, 'WITHSCORES') or {}
  for at = 1, #found, 2 do
    changes[#changes + 1] = found[at]
    changes[#changes + 1] = tonumber(found[at + 1])
  end
end
local is_last = upto == log.sequence and 1 or 0
return cmsgpack.pack(RAN, clock, log.generation, upto, is_last, is_known and since or -1, log.keyFloor,
  log.scopeFloor, changes)
