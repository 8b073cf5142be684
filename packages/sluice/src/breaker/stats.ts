import type { PartHealth } from '../runtime/part.ts'
import type { BreakerState } from './circuit.ts'

/** Calls by how they ended. Each is counted once. */
export interface BreakerCounts {
  /** Including those with an error that is not a failure of what was called. */
  succeeded: number
  failed: number
  /** Not made: refused by the breaker, or by a breaker or bulkhead inside it. */
  rejected: number
  /** Aborted by their own caller, which shows nothing about what was called. */
  cancelled: number
}

/** How a call ended. */
export type CallOutcome = keyof BreakerCounts

export const noCounts = (): BreakerCounts => ({ succeeded: 0, failed: 0, rejected: 0, cancelled: 0 })

/** The state of a breaker, and its counts since it was made. */
export interface BreakerStats extends Readonly<BreakerCounts> {
  readonly key: string
  readonly state: BreakerState
  /** Whether it is open because of `isolate()`. */
  readonly isolated: boolean
  /** Calls that have not settled. */
  readonly inFlight: number
  /**
   * How many settled after the state that had admitted them was over, so that they did not count for the current one.
   */
  readonly late: number
  /** For how much longer no call is admitted; `Infinity` (in JSON: null) when it is isolated. */
  readonly retryAfterMs: number
}

/** How many breakers are named in warnings. */
const mostNamed = 10

/** The health of breakers: those that are not closed are warnings. `closed` says that `close` was called. */
export function breakerHealth(breakers: readonly BreakerStats[], closed: string | undefined): PartHealth {
  if (closed !== undefined) return { ready: false, reasons: [`${closed}.`], warnings: [] }
  const tripped = breakers.filter(({ state }) => state !== 'closed')
  const warnings = tripped.slice(0, mostNamed).map(({ key, state, isolated }) => {
    const why = isolated ? 'isolated by hand' : `${state}: its calls have failed repeatedly`
    return `The breaker ${JSON.stringify(key)} is ${why}.`
  })
  if (tripped.length > mostNamed) warnings.push(`${tripped.length - mostNamed} more breakers are not closed.`)
  return { ready: true, reasons: [], warnings }
}
