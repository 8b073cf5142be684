// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const readReports: Script = {
  name: 'readReports',
  sha1: 'd2ad8a49e58d5a4a593902fa150577ccf77a4d92',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
return cmsgpack.pack(0, clock, call('HGETALL', KEYS[1]))
`,
}

export const report: Script = {
  name: 'report',
  sha1: 'e31dc9108a8ef40417e1f8fb1ec87bbff50e145f',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
for i = 2, #ARGV, 2 do
call('HSET', KEYS[1], ARGV[i], string.format('%.0f %.0f', clock, clock + tonumber(ARGV[i + 1])))
end
return cmsgpack.pack(0, clock)
`,
}
