import { formatDuration, parseDuration } from '../../core/duration.ts'
import type { SluiceError } from '../../core/errors.ts'
import type { DelaySpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'

/** How requests are slowed down before they are denied. */
export interface DelayTerms {
  readonly after: number
  readonly eachMs: number
  readonly maxMs: number
}

/** Longer delays are no use to clients, and cost memory here. */
const longestMs = 300_000

/** Compiles `delay` of a rule, and reports what makes no sense. */
export function compileDelay(spec: DelaySpec, path: string, report: Report): DelayTerms {
  const ms = (field: 'each' | 'max', otherwise: string): number => {
    const value = spec[field] ?? otherwise
    try {
      const length = parseDuration(value, field)
      if (length >= 1 && length <= longestMs) return length
      report(`${path}.${field}`, value, `use a time from 1ms to ${formatDuration(longestMs)}`)
    } catch (error) {
      report(`${path}.${field}`, value, (error as SluiceError).message.replace(/^.*; /, ''))
    }
    return 1
  }
  return { after: spec.after, eachMs: ms('each', '1s'), maxMs: ms('max', '10s') }
}

/** For how long one waits who is the `used`th of a window. */
export function delayMsOf({ after, eachMs, maxMs }: DelayTerms, used: number): number {
  return Math.min(maxMs, Math.max(0, used - after) * eachMs)
}
