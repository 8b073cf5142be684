// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const claimIds: Script = {
  name: 'claimIds',
  sha1: 'cc5ba867c1c0271485bb57f6e7dfeceb5f8830ec',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
local key, action, hold, ttl = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local bounds = call('HMGET', key, 'first', 'last')
local first, last = tonumber(bounds[1] or ''), tonumber(bounds[2] or '')
local replies = {}
for i = 5, #ARGV do
local seq = tonumber(ARGV[i])
if not first then
first, last = seq, seq - 1
end
local within = seq >= first and seq <= last
local state = within and 'done' or call('HGET', key, ARGV[i])
if action == 'claim' then
if state == 'done' then
replies[#replies + 1] = 2
elseif state and tonumber(state) > clock then
replies[#replies + 1] = 1
else
call('HSET', key, ARGV[i], string.format('%.0f', clock + hold * 1000))
replies[#replies + 1] = 0
end
elseif action == 'finish' then
if not within then call('HSET', key, ARGV[i], 'done') end
local following = string.format('%.0f', last + 1)
while call('HGET', key, following) == 'done' do
call('HDEL', key, following)
last = last + 1
following = string.format('%.0f', last + 1)
end
elseif state and state ~= 'done' then
call('HDEL', key, ARGV[i])
end
end
call('HSET', key, 'first', string.format('%.0f', first), 'last', string.format('%.0f', last))
call('PEXPIRE', key, ttl)
return cmsgpack.pack(0, clock, unpack(replies))
`,
}
