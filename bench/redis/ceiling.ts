import { Redis } from 'ioredis'
import type { RedisServer } from '../../packages/sluice/src/testing/servers/redis.ts'
import type { Effort } from '../measure/case.ts'
import { ContenderProcess } from '../measure/contender-process.ts'
import { type Entrant, interleave } from '../measure/interleave.ts'
import { withRedisCpu } from '../measure/redis-cpu.ts'
import type { Load } from '../measure/round.ts'
import { summarize } from '../measure/summarize.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { type RecordedCall, recordCall } from './recorded-call.ts'
import { redisBenchmark } from './redis-benchmark.ts'

const batch = 64
const subjects = 10_000
/** Enough connections that Redis always has a call waiting. */
const manyConnections = 8
const limits = [{ amount: 1_000_000_000, seconds: 60 }]

/**
 * Batches of 64 against redis-benchmark with the same script, arguments and batch size, on as many connections. A
 * limiter with 64 callers in flight sends batches of 64; eight of them keep Redis as busy as eight connections of
 * redis-benchmark do.
 */
export async function benchCeiling(redis: RedisServer, effort: Effort): Promise<CaseResult[]> {
  const setup = { redisUrl: redis.url, prefix: 'bench0', limits }
  const call = await withoutDeadline(await recordCall(setup, batch), redis.url)
  const results: CaseResult[] = []
  for (const connections of [manyConnections, 1]) {
    const title = `batches of ${batch}, 10,000 subjects, 1 limit, ${connections} connection${connections === 1 ? '' : 's'}`
    progress(`redis: ${title}`)
    const ours = await ContenderProcess.open('sluice', 'sluice', { ...setup, instances: connections }, subjects, 1)
    const load: Load = { inFlight: connections * batch, ms: effort.roundMs, maxDecisions: 2_000_000, expect: 'allowed' }
    // Number of calls that take about a round at 160,000 decisions per second.
    const replay = { port: redis.port, connections, calls: Math.ceil(effort.roundMs * 2.5), subjects }
    const entrants: Entrant[] = [
      { label: ours.label, round: () => ours.round(load) },
      { label: 'redis-benchmark', round: () => redisBenchmark(call, replay) },
    ]
    // With a single connection Redis waits for the client between calls: not a ceiling, only a comparison.
    const targets = connections === 1 ? [] : [{ against: 'redis-benchmark', atLeast: 0.8 }]
    const rounds = await interleave(
      entrants.map((entrant) => withRedisCpu(redis, entrant)),
      effort.rounds,
    ).finally(() => ours.close())
    results.push(summarize('redis', title, rounds, targets))
  }
  return results
}

/** The recorded deadline would soon pass, and the script would then refuse to decide: set it an hour ahead. */
async function withoutDeadline(call: RecordedCall, url: string): Promise<RecordedCall> {
  const lasting = { ...call, args: [String((Date.now() + 3_600_000) * 1000), ...call.args.slice(1)] }
  const client = new Redis(url)
  const reply = await client.callBuffer('EVALSHA', call.sha, call.keys.length, ...lasting.keys, ...lasting.args)
  client.disconnect()
  if (!Buffer.isBuffer(reply) || reply[0] !== 0)
    throw new Error('the script did not decide when the recorded call was replayed')
  return lasting
}
