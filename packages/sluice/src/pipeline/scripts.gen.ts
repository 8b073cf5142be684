// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const change: Script = {
  name: 'change',
  sha1: '9c86459d2afa3ba79613ef5999ba280881433b0e',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local text = call('HGET', KEYS[1], ARGV[2])
local entry = text and cjson.decode(text)
if not entry or entry.epoch ~= tonumber(ARGV[3]) then return cmsgpack.pack(0, clock, 0) end
if ARGV[4] == '0' then
entry.owner = nil
elseif ARGV[4] ~= '' then
entry.untilUs = clock + ARGV[4]
end
for name, value in pairs(cjson.decode(ARGV[5])) do
if value == cjson.null then value = nil end
entry[name] = value
end
call('HSET', KEYS[1], ARGV[2], cjson.encode(entry))
call('PEXPIRE', KEYS[1], ARGV[6])
return cmsgpack.pack(0, clock, 1)
`,
}

export const claim: Script = {
  name: 'claim',
  sha1: '27800b08f0aa6a928e5071468c6c6d34e93edd8f',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local text = call('HGET', KEYS[1], ARGV[2])
local entry = text and cjson.decode(text) or { epoch = 0, done = false }
if entry.owner and entry.untilUs > clock then return cmsgpack.pack(0, clock, '') end
entry.epoch = entry.epoch + 1
entry.owner = ARGV[3]
entry.untilUs = clock + ARGV[4]
text = cjson.encode(entry)
call('HSET', KEYS[1], ARGV[2], text)
call('PEXPIRE', KEYS[1], ARGV[5])
return cmsgpack.pack(0, clock, text)
`,
}

export const list: Script = {
  name: 'list',
  sha1: '1cf337be18ea6ffc31b1bd1ca9218c8e5fd2966d',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
return cmsgpack.pack(0, clock, call('HGETALL', KEYS[1]))
`,
}
