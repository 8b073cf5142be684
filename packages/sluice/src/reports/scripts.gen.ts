// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const order: Script = {
  name: 'order',
  sha1: '33c317338aa538341a42ff8702dd23ac926d000a',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local key, replica, id, text, ttl = KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] * 1000
if clock - (tonumber(call('HGET', key, 't:' .. replica) or '') or 0) > ttl then
return cmsgpack.pack(0, clock, 'absent', '')
end
local waiting = {}
local stored = call('HGET', key, 'c:' .. replica)
for _, each in ipairs(stored and cmsgpack.unpack(stored) or {}) do
if each[1] >= clock then
if each[3] == text then
return cmsgpack.pack(0, clock, 'waiting', each[2])
end
waiting[#waiting + 1] = each
end
end
if #waiting >= ARGV[6] + 0 then
return cmsgpack.pack(0, clock, 'full', '')
end
waiting[#waiting + 1] = { clock + ttl, id, text }
call('HSET', key, 'c:' .. replica, cmsgpack.pack(waiting))
return cmsgpack.pack(0, clock, 'waiting', id)
`,
}

export const report: Script = {
  name: 'report',
  sha1: 'e8833e337a9851ce4a49ccdd5b507c6346ccafc8',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local key, replica, text, ttl = KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if text == '' then
call('HDEL', key, 'd:' .. replica, 't:' .. replica, 'c:' .. replica)
return cmsgpack.pack(0, clock, 0, 0)
end
call('HSET', key, 'd:' .. replica, text, 't:' .. replica, string.format('%.0f', clock))
local pruned = tonumber(call('HGET', key, 'pruned') or '') or 0
local is_turn = clock - pruned > ttl * 1000 or clock < pruned
if is_turn then
call('HSET', key, 'pruned', string.format('%.0f', clock))
for _, field in ipairs(call('HKEYS', key)) do
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
call('HDEL', key, 'c:' .. replica)
for _, each in ipairs(cmsgpack.unpack(stored)) do
if each[1] >= clock then
taken[#taken + 1] = each[2]
taken[#taken + 1] = each[3]
end
end
end
return cmsgpack.pack(0, clock, is_turn and 1 or 0, #taken / 2, unpack(taken))
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

export const services: Script = {
  name: 'services',
  sha1: '88f1818dbbc74ee067507012236ede99a5d910ef',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local key, service, ttl, most = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', clock - ttl * 1000))
if service == '' then
local services = call('ZRANGE', key, 0, most - 1)
return cmsgpack.pack(0, clock, #services, unpack(services))
end
if call('ZSCORE', key, service) or call('ZCARD', key) < most then
call('ZADD', key, string.format('%.0f', clock), service)
call('PEXPIRE', key, ttl)
end
return cmsgpack.pack(0, clock, 0)
`,
}
