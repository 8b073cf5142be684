import type { Priority } from './priority.ts'

/** A burst may make requests wait this long; a service that keeps up has served it by then. */
const burstMs = 200
/** Once requests have waited for a whole interval, none may wait longer than this. */
const standingMs = 50
const intervalMs = 500
/** Requests that waited less than this do not count as a queue. */
const shortMs = 20

const factors: Readonly<Record<Priority, number>> = { critical: 2, normal: 1, bulk: 0.5 }

/**
 * How long a request may have waited before it was read, given for how long there has been a queue. The rule is
 * controlled delay as in "Fail at Scale" (Maurer, ACM Queue 2015): generous to bursts, strict to a standing queue.
 */
export function waitLimitMs(queueForMs: number, priority: Priority): number {
  return (queueForMs > intervalMs ? standingMs : burstMs) * factors[priority]
}

/** When there was last no queue, after a request that has waited `waitedMs`. */
export function lastShortMs(before: number, waitedMs: number, nowMs: number): number {
  return waitedMs < shortMs ? nowMs : before
}
