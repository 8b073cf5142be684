import { mostInAnyPeriod } from '../../packages/sluice/src/egress/testing/vendor.ts'
import type { Fleet } from './fleet.ts'
import type { WorkerReport } from './settings.ts'

/** The arrivals at the vendor in one run. */
export interface Finding {
  readonly arrivals: number
  /** The most arrivals in any rolling second. */
  readonly most: number
  /** The average rate over the last ten seconds, when all faults are over. */
  readonly rate: number
  /** The expected minimum of that: 96 % of limit / (1 + time to first byte). */
  readonly wanted: number
  readonly wrong: readonly string[]
  /** The most that the bound allows in a second. */
  readonly bound: number
}

interface Expected {
  readonly limit: number
  readonly answerMs: number
  /** Seconds that begin before this are not judged. */
  readonly sinceMs?: number
}

const lastMs = 10_000

/** The bound is judged on every rolling second of the run; the rate only where a busy machine cannot be the cause. */
export function judge(fleet: Fleet, reports: readonly WorkerReport[], expected: Expected): Finding {
  const { limit, answerMs, sinceMs = 0 } = expected
  const { arrivals } = fleet.vendor
  const nowMs = performance.now()
  const judged = arrivals.filter((at) => at >= sinceMs)
  const most = mostInAnyPeriod(judged, 1000)
  const rate = rateOf(
    arrivals.filter((at) => at >= nowMs - lastMs),
    limit,
  )
  const wrong: string[] = []
  if (most > limit) wrong.push(`${most} arrivals in a second, ${limit} are allowed`)
  const failed = reports.flatMap((report) => report.failed)
  if (failed.length > 0) wrong.push(`calls failed: ${[...new Set(failed)].slice(0, 3).join('; ')}`)
  return { arrivals: arrivals.length, most, rate, wanted: (0.96 * limit) / (1 + answerMs / 1000), wrong, bound: limit }
}

/** How much longer than its margin a call may take on a busy machine, from its instant to the vendor. */
const slackMs = 50

/**
 * The documented bound of `bound: estimated`: floor((period + J) / spacing) + 1, where J is how much delays differ. The
 * rate is lower by what the margin lengthens the period.
 */
export function judgeEstimated(fleet: Fleet, reports: readonly WorkerReport[], limit: number): Finding {
  const margins = reports.map(({ stats }) => stats?.marginMs ?? 0)
  const spacingMs = (1000 + Math.min(...margins)) / limit
  const bound = Math.floor((1000 + Math.max(...margins) + slackMs) / spacingMs) + 1
  const found = judge(fleet, reports, { limit: bound, answerMs: 0 })
  return { ...found, rate: averageOf(fleet), bound, wanted: (0.96 * limit) / (1 + Math.max(...margins) / 1000) }
}

/** Spaced calls do not arrive in rounds. */
function averageOf({ vendor }: Fleet): number {
  const nowMs = performance.now()
  return (vendor.arrivals.filter((at) => at >= nowMs - lastMs).length * 1000) / lastMs
}

/**
 * Arrivals may come in bursts of the whole limit; so the rate is that of whole rounds, from one arrival to that of the
 * same place.
 */
function rateOf(arrivals: readonly number[], limit: number): number {
  const count = Math.floor((arrivals.length - 1) / limit) * limit
  return count <= 0 ? 0 : (count * 1000) / (arrivals[count]! - arrivals[0]!)
}
