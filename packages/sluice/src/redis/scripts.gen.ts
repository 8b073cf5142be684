// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from './script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const nodeFacts: Script = {
  name: 'nodeFacts',
  sha1: '152eeebe47b34bd4ba10fb2be3ab27c8f01f993a',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function field(section, name)
return string.match(call('INFO', section), name .. ':(%w+)')
end
return cmsgpack.pack(0, clock, field('server', 'run_id'), tonumber(field('stats', 'evicted_keys')))
`,
}
