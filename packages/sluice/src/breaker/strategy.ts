import { RateWindow } from './rate-window.ts'

/** Decides, from the outcomes of the calls of a closed breaker, when it opens. Time arrives as an argument. */
export interface Strategy {
  /** Whether it needs the time of successes too; if not, the clock need not be read on the common path. */
  readonly timed: boolean
  /** Calls that take this long are slow: a slow probe fails. Infinity when calls need not be timed. */
  readonly slowMs: number
  /** Records a success; true when the breaker should open. */
  succeeded(nowMs: number, tookMs: number): boolean
  /** Records a failure; true when the breaker should open. */
  failed(nowMs: number, tookMs: number): boolean
  /** Resets all counts: the breaker has closed again. */
  reset(): void
}

/** What a rate is measured over. */
export interface RateLimit {
  /** From which share of the calls on it opens, above 0 and up to 1. */
  readonly ratio: number
  /** The length of the sliding window. */
  readonly windowMs: number
  /** With fewer calls in the window it does not open. */
  readonly minCalls: number
}

/** Opens after so many failures in a row. */
export function failuresInARow(limit: number): Strategy {
  let failures = 0
  return {
    timed: false,
    slowMs: Infinity,
    succeeded() {
      failures = 0
      return false
    },
    failed: () => ++failures >= limit,
    reset() {
      failures = 0
    },
  }
}

/**
 * Opens when too large a share of the calls failed. Only calls that have settled count, so a flood in flight does not
 * dilute it.
 */
export function failureRate({ ratio, windowMs, minCalls }: RateLimit): Strategy {
  const window = new RateWindow(windowMs, minCalls, ratio)
  return {
    timed: true,
    slowMs: Infinity,
    succeeded: (nowMs) => window.add(false, nowMs),
    failed: (nowMs) => window.add(true, nowMs),
    reset: () => window.reset(),
  }
}

/** Opens when too large a share of the calls took `slowMs` or longer, whether they succeeded or failed. */
export function slowCallRate({ slowMs, ratio, windowMs, minCalls }: RateLimit & { readonly slowMs: number }): Strategy {
  const window = new RateWindow(windowMs, minCalls, ratio)
  const record = (nowMs: number, tookMs: number): boolean => window.add(tookMs >= slowMs, nowMs)
  return {
    timed: true,
    slowMs,
    succeeded: record,
    failed: record,
    reset: () => window.reset(),
  }
}

/** Opens when one of several strategies does. */
export function anyOf(strategies: readonly [Strategy, ...Strategy[]]): Strategy {
  if (strategies.length === 1) return strategies[0]
  // No early return: each strategy must see every outcome.
  const any = (record: (strategy: Strategy) => boolean): boolean => strategies.map(record).includes(true)
  return {
    timed: strategies.some(({ timed }) => timed),
    slowMs: Math.min(...strategies.map(({ slowMs }) => slowMs)),
    succeeded: (nowMs, tookMs) => any((strategy) => strategy.succeeded(nowMs, tookMs)),
    failed: (nowMs, tookMs) => any((strategy) => strategy.failed(nowMs, tookMs)),
    reset() {
      for (const strategy of strategies) strategy.reset()
    },
  }
}
