import { type Duration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'

/** How long a value is fresh: a duration, or `'forever'` for what never changes, such as a closed candle. */
export type Ttl = Duration | 'forever'

/** Reads a TTL as milliseconds; `Infinity` for `'forever'`. */
export function parseTtl(ttl: Ttl, option: string): number {
  if (ttl === 'forever') return Number.POSITIVE_INFINITY
  const ms = parseDuration(ttl, option)
  if (ms === 0) throw invalidOption(option, ttl, 'use at least 1 ms, such as "60s", or "forever"')
  return ms
}
