import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { needBinary } from '../../packages/sluice/src/testing/servers/binary.ts'
import type { RoundResult } from '../measure/round.ts'
import type { RecordedCall } from './recorded-call.ts'

const run = promisify(execFile)

export interface CeilingLoad {
  readonly port: number
  readonly connections: number
  readonly calls: number
  readonly subjects: number
}

/**
 * Replays a recorded script call for random subjects with redis-benchmark: the speed of Redis when the client costs
 * almost nothing.
 */
export async function redisBenchmark(call: RecordedCall, load: CeilingLoad): Promise<RoundResult> {
  const { stdout } = await run(needBinary('redis-benchmark', 'it comes with Redis'), [
    ...['-p', `${load.port}`, '-c', `${load.connections}`, '-n', `${load.calls}`, '-r', `${load.subjects}`, '--csv'],
    ...evalsha(call),
  ])
  // The name of the test is the whole command; the figures are the last seven fields.
  const fields = stdout
    .trim()
    .split('\n')
    .at(-1)!
    .match(/"[\d.]+"/g)!
    .slice(-7)
  const [callsPerSecond, , , p50Ms, , p99Ms] = fields.map((field) => Number(field.slice(1, -1)))
  const batch = call.keys.length
  return {
    decisions: load.calls * batch,
    perSecond: callsPerSecond! * batch,
    p50Us: p50Ms! * 1000,
    p99Us: p99Ms! * 1000,
    cpuUs: Number.NaN,
  }
}

function evalsha({ sha, keys, args }: RecordedCall): string[] {
  // Subjects end in 12 digits, and so does the random number of redis-benchmark for __rand_int__, new for each key of
  // each call.
  const random = keys.map((key) => key.replace(/\d{12}$/, '__rand_int__'))
  return ['EVALSHA', sha, `${keys.length}`, ...random, ...args]
}
