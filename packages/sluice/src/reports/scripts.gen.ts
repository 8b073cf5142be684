// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const report: Script = {
  name: 'report',
  sha1: '1eb8ee569dbfe0df8f19ccb1d1acc237235f7933',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local key, replica, text, ttl = KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if text == '' then
call('HDEL', key, 'd:' .. replica, 't:' .. replica)
return cmsgpack.pack(0, clock)
end
call('HSET', key, 'd:' .. replica, text, 't:' .. replica, string.format('%.0f', clock))
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
return cmsgpack.pack(0, clock)
`,
}

export const reports: Script = {
  name: 'reports',
  sha1: 'fa222cb3c4157595ad133963b9ab0393fc0beb0b',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local key, ttl, most = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local found, alive = {}, 0
for _, field in ipairs(call('HKEYS', key)) do
local replica = string.match(field, '^t:(.*)$')
local age = replica and (clock - (tonumber(call('HGET', key, field)) or 0)) / 1000
if age and age <= ttl then
alive = alive + 1
if alive <= most then
found[#found + 1] = math.max(0, math.floor(age))
found[#found + 1] = call('HGET', key, 'd:' .. replica) or ''
end
end
end
return cmsgpack.pack(0, clock, alive, #found / 2, unpack(found))
`,
}
