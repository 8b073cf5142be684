// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from './script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
} as const

export const runId: Script = {
  name: 'runId',
  sha1: 'cab2ef201cc25fbbb8fc4422ffda69bc37130eb6',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
return cmsgpack.pack(0, clock, string.match(call('INFO', 'server'), 'run_id:(%w+)'))
`,
}
