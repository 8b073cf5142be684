import type { Capacity } from 'sluice/shipper'

const rows = [
  { below: 40, maxBatchSize: 100, delayBetweenBatches: 100 },
  { below: 60, maxBatchSize: 50, delayBetweenBatches: 1000 },
  { below: 80, maxBatchSize: 20, delayBetweenBatches: 2000 },
  { below: 95, maxBatchSize: 10, delayBetweenBatches: 5000 },
] as const

const retryAfterSeconds = 30

/** What the collector takes at a load from 0 to 100; `hurry` divides all times. */
export function capacityAt(loadPercent: number, hurry = 1): Capacity {
  const row = rows.find(({ below }) => loadPercent < below)
  const message = row === undefined ? 'too busy, try later' : null
  const { maxBatchSize = 0, delayBetweenBatches = 0 } = row ?? {}
  return {
    ready: row !== undefined,
    maxBatchSize,
    delayBetweenBatches: delayBetweenBatches / hurry,
    retryAfter: row === undefined ? retryAfterSeconds / hurry : null,
    loadPercent,
    message,
  }
}
