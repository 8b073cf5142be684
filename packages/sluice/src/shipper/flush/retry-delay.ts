import { backoffMs } from '../../core/backoff.ts'

/**
 * How long to wait before the next request for a batch. Other parts of it wait as batches do; events that the server
 * wants again wait longer each time.
 */
export function retryDelayMs(retry: number, delayBetweenBatches: number, random: () => number): number {
  if (retry === 0) return delayBetweenBatches
  return Math.max(delayBetweenBatches, backoffMs(retry - 1, random, { baseMs: 100, maxMs: 5000 }))
}
