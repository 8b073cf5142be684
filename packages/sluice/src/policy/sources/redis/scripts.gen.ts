// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const publish: Script = {
  name: 'publish',
  sha1: 'ebb5afe3cfb4147061a40eb9b9f97f9d30fcf77c',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local key, document, channel = KEYS[1], ARGV[2], ARGV[3]
local kind = call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'string' and kind ~= 'none' then
return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', which is no policy')
end
if ARGV[5] ~= '' then
local newest = kind == 'hash' and tonumber(call('HGET', key, 'revision') or '') or 0
if newest ~= tonumber(ARGV[5]) then return cmsgpack.pack(0, clock, '') end
end
local time = string.format('%.0f', math.floor(clock / 1000))
local revision = 1
local kept = {}
if kind == 'hash' then
revision = (tonumber(call('HGET', key, 'revision') or '') or 0) + 1
for _, field in ipairs(call('HKEYS', key)) do
local number = string.match(field, '^v:(%d+)$')
if number then kept[#kept + 1] = tonumber(number) end
end
table.sort(kept)
elseif kind == 'string' then
local former = call('GET', key)
call('DEL', key)
call('HSET', key, 'v:1', former, 't:1', time)
revision = 2
end
for i = 1, #kept - tonumber(ARGV[4]) + 1 do
call('HDEL', key, string.format('v:%.0f', kept[i]), string.format('t:%.0f', kept[i]))
end
local text = string.format('%.0f', revision)
call('HSET', key, 'revision', text, 'time', time, 'document', document, 'v:' .. text, document, 't:' .. text, time)
call('PUBLISH', channel, text)
return cmsgpack.pack(0, clock, text)
`,
}
