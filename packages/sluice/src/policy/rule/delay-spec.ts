import type { DelaySpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { readDuration } from '../document/read-duration.ts'

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
  const ms = (field: 'each' | 'max', otherwise: string): number =>
    readDuration(spec[field] ?? otherwise, `${path}.${field}`, report, { most: longestMs }) ?? 1
  return { after: spec.after, eachMs: ms('each', '1s'), maxMs: ms('max', '10s') }
}

/** For how long one waits who is the `used`th of a window. */
export function delayMsOf({ after, eachMs, maxMs }: DelayTerms, used: number): number {
  return Math.min(maxMs, Math.max(0, used - after) * eachMs)
}
