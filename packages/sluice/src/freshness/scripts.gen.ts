// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const readReports: Script = {
  name: 'readReports',
  sha1: '1cf337be18ea6ffc31b1bd1ca9218c8e5fd2966d',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
return cmsgpack.pack(0, clock, call('HGETALL', KEYS[1]))
`,
}

export const report: Script = {
  name: 'report',
  sha1: 'b3516431accb056ca2aad62eb38d1d6d94608367',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
for i = 2, #ARGV, 2 do
call('HSET', KEYS[1], ARGV[i], string.format('%.0f %.0f', clock, clock + tonumber(ARGV[i + 1])))
end
return cmsgpack.pack(0, clock)
`,
}
