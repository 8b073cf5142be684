import type { CapacityOptions } from 'sluice/capacity'

const rows = [
  { below: 40, maxBatchSize: 100, delayMs: 100 },
  { below: 60, maxBatchSize: 50, delayMs: 1000 },
  { below: 80, maxBatchSize: 20, delayMs: 2000 },
  { below: 95, maxBatchSize: 10, delayMs: 5000 },
] as const

/** What the collector accepts at each load; `hurry` divides all times, so that the whole example runs quickly. */
export function loadTable(hurry: number): Pick<CapacityOptions, 'table' | 'retryAfter'> {
  const table = rows.map(({ delayMs, ...row }) => ({ ...row, delay: `${delayMs / hurry}ms` as const }))
  return { table, retryAfter: `${30_000 / hurry}ms` }
}
