import type { LimitSet } from '../../core/engine/limit-set.ts'
import type { OverrideSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { Steps } from '../steps.ts'
import { type RuleKey, subjectOf } from './key.ts'

/** Other limits by exact subject. One lookup, however many there are. */
export type Overrides = ReadonlyMap<string, Override>

interface Override {
  readonly limits: LimitSet
  /** `Infinity` when it does not end. */
  readonly untilMs: number
}

/** Compiles `overrides`. */
export function* compileOverrides(
  specs: readonly OverrideSpec[],
  key: RuleKey | undefined,
  readLimits: (spec: OverrideSpec['limits'], path: string) => LimitSet | undefined,
  path: string,
  report: Report,
): Steps<Overrides> {
  const overrides = new Map<string, Override>()
  const endless = new Map<LimitSet, Override>()
  for (let i = 0; i < specs.length; i++) {
    const spec = specs[i]!
    const subject = subjectOf(key, spec.key)
    const wrong = wrongPart(spec.key)
    if (wrong) report(`${path}[${i}].key`, spec.key, wrong)
    else if (subject === undefined) report(`${path}[${i}].key`, spec.key, wantedKey(key))
    else if (overrides.has(subject))
      report(`${path}[${i}].key`, spec.key, 'this key has an override already; keep one of them')
    const untilMs = readUntil(spec.until, `${path}[${i}].until`, report)
    const limits = readLimits(spec.limits, `${path}[${i}].limits`)
    if (subject === undefined || !limits) continue
    let override = untilMs === Infinity ? endless.get(limits) : undefined
    if (!override) {
      override = { limits, untilMs }
      if (untilMs === Infinity) endless.set(limits, override)
    }
    overrides.set(subject, override)
    if (i % 64 === 0) yield
  }
  return overrides
}

/** Values that would silently mean another key than the one that was written. */
function wrongPart(key: OverrideSpec['key']): string | undefined {
  const parts = Array.isArray(key) ? (key as readonly unknown[]) : [key]
  if (parts.some((part) => Number.isInteger(part) && !Number.isSafeInteger(part)))
    return 'a number this large is not exact; write it as text, in quotes'
  return parts.includes('*') ? 'there are no wildcards: an override is for exactly one key' : undefined
}

function wantedKey(key: RuleKey | undefined): string {
  if (!key) return 'use texts, finite numbers or booleans'
  if (key.numbered)
    return `begin with the place of the alternative (0 to ${key.alternatives.length - 1}), then give its parts`
  const names = key.alternatives[0]!.selectors?.map(({ text }) => text)
  return names ? `give a value for each part of the key: ${names.join(', ')}` : 'use texts that are not empty'
}

const date = /^\d{4}-\d{2}-\d{2}$/
const time = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})$/

/**
 * False for the 31st of February, which `Date.parse` takes for a day in March. What is no date at all is left to
 * others.
 */
function isCalendarDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(text) ?? []
  if (day === undefined) return true
  const at = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return at.getUTCMonth() === Number(month) - 1 && at.getUTCDate() === Number(day)
}

function readUntil(until: OverrideSpec['until'], path: string, report: Report): number {
  if (until === undefined) return Infinity
  const ms =
    typeof until === 'string' ? (date.test(until) || time.test(until) ? Date.parse(until) : Number.NaN) : Number(until)
  if (typeof until === 'string' && Number.isFinite(ms) && !isCalendarDate(until)) {
    report(path, until, 'there is no such day in the calendar')
    return Infinity
  }
  // A time in seconds would lie in 1970, which is surely a mistake.
  if (Number.isFinite(ms) && ms >= 1e11 && ms < 8.64e15) return ms
  report(
    path,
    until,
    'use a date such as 2027-01-31, a time with a zone such as 2027-01-31T18:00:00Z, or milliseconds since 1970',
  )
  return Infinity
}
