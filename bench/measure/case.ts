import type { RedisServer } from '../../packages/sluice/src/testing/servers/redis.ts'
import type { Setup } from '../contenders/contender.ts'
import type { ContenderName } from '../contenders/index.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { ContenderProcess } from './contender-process.ts'
import { type Entrant, interleave } from './interleave.ts'
import { withRedisCpu } from './redis-cpu.ts'
import type { Load } from './round.ts'
import { type CaseTarget, summarize } from './summarize.ts'

export interface CaseEntry {
  /** Its label in the table; the first entry is ours. */
  readonly label: string
  readonly contender: ContenderName
  readonly setup?: Partial<Setup>
}

/** One situation, at one or more numbers of callers in flight. */
export interface Case {
  readonly section: string
  readonly title: string
  readonly subjects: number
  readonly limits: Setup['limits']
  readonly expect: Load['expect']
  readonly entries: readonly CaseEntry[]
  readonly loads: readonly { readonly inFlight: number; readonly targets: readonly CaseTarget[] }[]
}

export interface Effort {
  readonly rounds: number
  readonly roundMs: number
}

/** Bounds a round of contenders that answer from memory. */
const maxDecisions = 2_000_000

/** Measures a case: a process for each entry, the loads one after the other, rounds interleaved. */
export async function runCase(spec: Case, redis: RedisServer | undefined, effort: Effort): Promise<CaseResult[]> {
  const passes = spec.expect === 'denied' ? spec.limits[0]!.amount + 1 : 1
  const processes: ContenderProcess[] = []
  const results: CaseResult[] = []
  try {
    for (const [index, { label, contender, setup }] of spec.entries.entries()) {
      const whole = { redisUrl: redis?.url ?? '', prefix: `bench${index}`, limits: spec.limits, ...setup }
      processes.push(await ContenderProcess.open(label, contender, whole, spec.subjects, passes))
    }
    for (const { inFlight, targets } of spec.loads) {
      const load = { inFlight, ms: effort.roundMs, maxDecisions, expect: spec.expect }
      const title = redis === undefined ? spec.title : `${spec.title}, ${inFlight} in flight`
      progress(`${spec.section}: ${title}`)
      const alone = processes.map((own): Entrant => ({ label: own.label, round: () => own.round(load) }))
      const entrants = redis === undefined ? alone : alone.map((entrant) => withRedisCpu(redis, entrant))
      results.push(summarize(spec.section, title, await interleave(entrants, effort.rounds), targets))
    }
  } finally {
    await Promise.allSettled(processes.map((own) => own.close()))
  }
  return results
}
