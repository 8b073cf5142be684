import { type RedisServer, startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import type { Setup } from '../contenders/contender.ts'
import type { ContenderName } from '../contenders/index.ts'
import type { CaseEntry, Effort } from '../measure/case.ts'
import { runCase } from '../measure/case.ts'
import { collect } from '../measure/collect.ts'
import { ContenderProcess } from '../measure/contender-process.ts'
import { type Entrant, interleave } from '../measure/interleave.ts'
import type { Load, RoundResult } from '../measure/round.ts'
import { summarize } from '../measure/summarize.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { measureWaiters } from './footprint.ts'
import { measureOverhead } from './overhead.ts'
import { benchProxy } from './proxy.ts'

const section = 'egress'
const processes = 4
const inFlight = 250

const sluice: CaseEntry = { label: 'sluice', contender: 'sluice egress' }
const bottleneck: CaseEntry = { label: 'bottleneck', contender: 'bottleneck' }
const queue: CaseEntry = { label: 'p-queue', contender: 'p-queue' }

/** Grants per second compared with bottleneck and p-queue, and the heap that a waiting call uses. */
export async function benchEgress(effort: Effort, only: string): Promise<CaseResult[]> {
  const inProcess = {
    ...{ section, title: 'in process', subjects: 1, limits: [], expect: 'allowed' as const },
    entries: [sluice, bottleneck, queue],
    loads: [
      {
        inFlight,
        targets: [
          { against: 'bottleneck', atLeast: 1 },
          { against: 'p-queue', atLeast: 1 },
        ],
      },
    ],
  }
  const steps = [
    { title: inProcess.title, run: () => runCase(inProcess, undefined, effort) },
    { title: 'one Redis, strict', run: () => runFleets('one Redis, strict', {}, 5, effort) },
  ]
  const results = await collect(steps, only)
  const others = [
    { title: 'the proxy', run: () => benchProxy(effort.rounds, effort.roundMs * 2) },
    { title: 'decision overhead', run: () => measureOverhead(effort.roundMs * 6) },
  ]
  results.push(...(await collect(others, only)))
  if ('waiters'.includes(only)) await measureWaiters()
  return results
}

/** Four processes for each entry, all on one Redis. */
async function runFleets(title: string, setup: Partial<Setup>, atLeast: number, effort: Effort): Promise<CaseResult[]> {
  const redis = await startRedis()
  const fleets: { readonly label: string; readonly members: ContenderProcess[] }[] = []
  try {
    for (const { label, contender } of [sluice, bottleneck]) {
      const members = await Promise.all(Array.from({ length: processes }, () => member(label, contender, redis, setup)))
      fleets.push({ label, members })
    }
    const load: Load = { inFlight, ms: effort.roundMs, maxDecisions: 2_000_000, expect: 'allowed' }
    progress(`${section}: ${title}, ${processes} processes`)
    const entrants = fleets.map(({ label, members }): Entrant => ({ label, round: () => together(members, load) }))
    const found = await interleave(entrants, effort.rounds)
    return [summarize(section, `${title}, ${processes} processes`, found, [{ against: 'bottleneck', atLeast }])]
  } finally {
    await Promise.allSettled(fleets.flatMap(({ members }) => members.map((each) => each.close())))
    await redis.stop()
  }
}

function member(
  label: string,
  contender: ContenderName,
  redis: RedisServer,
  setup: Partial<Setup>,
): Promise<ContenderProcess> {
  return ContenderProcess.open(
    label,
    contender,
    { redisUrl: redis.url, prefix: `bench-${label}`, limits: [], ...setup },
    1,
    1,
  )
}

/** One round of all members at once: their rates add up, and the slowest of them counts for latency. */
async function together(members: readonly ContenderProcess[], load: Load): Promise<RoundResult> {
  const results = await Promise.all(members.map((each) => each.round(load)))
  const sum = (read: (result: RoundResult) => number): number => results.reduce((total, each) => total + read(each), 0)
  return {
    decisions: sum(({ decisions }) => decisions),
    perSecond: sum(({ perSecond }) => perSecond),
    p50Us: Math.max(...results.map(({ p50Us }) => p50Us)),
    p99Us: Math.max(...results.map(({ p99Us }) => p99Us)),
    cpuUs: sum(({ cpuUs }) => cpuUs) / results.length,
  }
}
