import { mostInAnyPeriod } from '../../packages/sluice/src/egress/testing/vendor.ts'
import type { Fleet } from './fleet.ts'
import { machineMs, type WorkerReport } from './settings.ts'

/** The arrivals at the vendor in one run. */
export interface Finding {
  readonly arrivals: number
  /** The most arrivals in any rolling period. */
  readonly most: number
  /** The average rate over the last ten seconds, when all faults are over. */
  readonly rate: number
  /** The expected minimum of that. */
  readonly wanted: number
  readonly wrong: readonly string[]
  /** What took longer than it should. A busy machine makes that happen. */
  readonly late?: readonly string[]
  /** The most that the bound allows in a period. */
  readonly bound: number
}

interface Expected {
  readonly limit: number
  readonly periodMs?: number
  readonly wanted?: number
  /** Periods that begin before this are not judged. */
  readonly sinceMs?: number
}

const lastMs = 10_000
/** What requests count as being on their way by default, of a second: a vendor that reads later sees more. */
const vendorMs = 25

/** The bound is judged on every rolling period of the run; the rate when all faults are over. */
export async function judge(fleet: Fleet, reports: readonly WorkerReport[], expected: Expected): Promise<Finding> {
  const { limit, sinceMs = 0, periodMs = 1000, wanted = 0.96 * limit } = expected
  const { arrivals, lateMs } = await fleet.seen()
  const nowMs = machineMs()
  const judged = arrivals.filter((at) => at >= sinceMs)
  const most = mostInAnyPeriod(judged, periodMs)
  const rate = rateOf(
    arrivals.filter((at) => at >= nowMs - Math.max(lastMs, 3.5 * periodMs)),
    limit,
    periodMs,
  )
  const wrong: string[] = []
  const late = lateMs > vendorMs ? `; the vendor itself was late by up to ${Math.round(lateMs)} ms` : ''
  if (most > limit) wrong.push(`${most} arrivals in ${periodMs} ms, ${limit} are allowed${late}`)
  const failed = reports.flatMap((report) => report.failed)
  if (failed.length > 0) wrong.push(`calls failed: ${[...new Set(failed)].slice(0, 3).join('; ')}`)
  return { arrivals: arrivals.length, most, rate, wanted, wrong, bound: limit }
}

/**
 * Arrivals may come in bursts of the whole limit; so the rate is that of whole rounds, from one arrival to that of the
 * same place.
 */
function rateOf(arrivals: readonly number[], limit: number, periodMs: number): number {
  const count = Math.floor((arrivals.length - 1) / limit) * limit
  return count <= 0 ? 0 : (count * periodMs) / (arrivals[count]! - arrivals[0]!)
}
