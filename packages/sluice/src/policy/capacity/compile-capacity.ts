import type { CapacitySpec } from '../document/capacity-spec.ts'
import type { Report } from '../document/policy-error.ts'
import { readDuration } from '../document/read-duration.ts'

export interface CompiledCapacityRow {
  readonly below: number
  readonly maxBatchSize: number
  readonly delayMs: number
  readonly maxInFlight: number
}

/** A capacity table, ready to be looked up. */
export interface CompiledCapacity {
  readonly rows: readonly CompiledCapacityRow[]
  readonly retryAfterMs: number
}

/** What holds when nothing else is said. */
export const defaultCapacity: CompiledCapacity = Object.freeze({
  rows: Object.freeze([
    { below: 40, maxBatchSize: 100, delayMs: 100, maxInFlight: 8 },
    { below: 60, maxBatchSize: 50, delayMs: 1000, maxInFlight: 1 },
    { below: 80, maxBatchSize: 20, delayMs: 2000, maxInFlight: 1 },
    { below: 95, maxBatchSize: 10, delayMs: 5000, maxInFlight: 1 },
  ]),
  retryAfterMs: 30_000,
})

/** Reads a capacity table; mistakes go to `report`. */
export function compileCapacity(spec: CapacitySpec, path: string, report: Report): CompiledCapacity {
  const duration = (text: string, at: string): number => readDuration(text, at, report, { least: 0 }) ?? 0
  const rows = spec.table?.map(({ below, maxBatchSize, delay, maxInFlight = 1 }, i) => {
    if (i > 0 && below <= spec.table![i - 1]!.below)
      report(`${path}.table[${i}].below`, below, 'list the rows by rising load')
    return { below, maxBatchSize, delayMs: duration(delay, `${path}.table[${i}].delay`), maxInFlight }
  })
  const { retryAfter } = spec
  return {
    rows: rows ?? defaultCapacity.rows,
    retryAfterMs: retryAfter === undefined ? defaultCapacity.retryAfterMs : duration(retryAfter, `${path}.retryAfter`),
  }
}
