// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const claimIds: Script = {
  name: 'claimIds',
  sha1: 'af899d6c6efd224869f2b9bd40f5869fb264d075',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local key, action, hold, ttl, most = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local runs, replies = {}, {}
for first, last in string.gmatch(call('HGET', key, 'runs') or '', '(%-?%d+):(%-?%d+)') do
runs[#runs + 1] = { tonumber(first), tonumber(last) }
end
local function before(seq)
local at = #runs
while at > 0 and runs[at][1] > seq do at = at - 1 end
return at
end
local function has(seq)
local run = runs[before(seq)]
return run and seq <= run[2]
end
local function add(seq)
local at = before(seq)
local run, following = runs[at], runs[at + 1]
local joins = following and following[1] == seq + 1
if run and run[2] == seq - 1 then
run[2] = joins and following[2] or seq
if joins then table.remove(runs, at + 1) end
elseif joins then
following[1] = seq
else
table.insert(runs, at + 1, { seq, seq })
if #runs > most then table.remove(runs, 1) end
end
end
for i = 6, #ARGV do
local seq = tonumber(ARGV[i])
if action == 'claim' then
local claim = call('HGET', key, ARGV[i])
if has(seq) then
replies[#replies + 1] = 2
elseif claim and tonumber(claim) > clock then
replies[#replies + 1] = 1
else
call('HSET', key, ARGV[i], string.format('%.0f', clock + hold * 1000))
replies[#replies + 1] = 0
end
else
call('HDEL', key, ARGV[i])
if action == 'finish' and not has(seq) then add(seq) end
end
end
if action == 'finish' then
local texts = {}
for i, run in ipairs(runs) do texts[i] = string.format('%.0f:%.0f', run[1], run[2]) end
call('HSET', key, 'runs', table.concat(texts, ','))
end
call('PEXPIRE', key, ttl)
return cmsgpack.pack(0, clock, unpack(replies))
`,
}
