import type { CacheResult } from './cache.ts'
import type { LookupResult } from './flights/flight.ts'
import type { L1 } from './l1/l1.ts'

/** What a caller of `lookup` gets. */
export function toResult<T>({ value, entry, stale, from }: LookupResult, l1: L1): CacheResult<T> {
  const nowMs = l1.nowMs()
  const ageMs = entry ? Math.max(0, nowMs - entry.madeAtMs) : 0
  const freshMs = entry && !stale ? Math.max(0, entry.freshUntilMs - nowMs) : 0
  return { value: value as T, stale, ageMs, freshMs, from }
}
