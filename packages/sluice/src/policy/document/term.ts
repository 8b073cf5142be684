import type { Report } from './policy-error.ts'

/** A moment as documents say it: an ISO date, a time with a zone, or milliseconds since 1970. */
export type MomentSpec = string | number | Date

/** From when and until when something holds; always, where neither is said. */
export interface TermSpec {
  readonly from?: MomentSpec | undefined
  readonly until?: MomentSpec | undefined
}

/** A term in milliseconds since 1970: it begins with `fromMs` and ends before `untilMs`. */
export interface Term {
  readonly fromMs: number
  readonly untilMs: number
}

/** Whether a term is limited at all, so that the time matters. */
export function isDated({ from, until }: TermSpec): boolean {
  return from !== undefined || until !== undefined
}

export function isWithin({ fromMs, untilMs }: Term, nowMs: number): boolean {
  return nowMs >= fromMs && nowMs < untilMs
}

/** Always. */
export const endless: Term = { fromMs: -Infinity, untilMs: Infinity }

/** Reads `from` and `until`; mistakes go to `report`. */
export function readTerm(spec: TermSpec, path: string, report: Report): Term {
  if (!isDated(spec)) return endless
  const fromMs = readMoment(spec.from, `${path}.from`, report) ?? -Infinity
  const untilMs = readMoment(spec.until, `${path}.until`, report) ?? Infinity
  if (fromMs >= untilMs) report(`${path}.until`, spec.until, 'it must be later than from')
  return { fromMs, untilMs }
}

const date = /^\d{4}-\d{2}-\d{2}$/
const time = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})$/

function readMoment(moment: MomentSpec | undefined, path: string, report: Report): number | undefined {
  if (moment === undefined) return undefined
  const isText = typeof moment === 'string'
  const ms = isText ? (date.test(moment) || time.test(moment) ? Date.parse(moment) : Number.NaN) : Number(moment)
  if (isText && Number.isFinite(ms) && !isCalendarDate(moment)) {
    report(path, moment, 'there is no such day in the calendar')
    return undefined
  }
  // A time in seconds would lie in 1970, which is surely a mistake.
  if (Number.isFinite(ms) && ms >= 1e11 && ms < 8.64e15) return ms
  report(
    path,
    moment,
    'use a date such as 2027-01-31, a time with a zone such as 2027-01-31T18:00:00Z, or milliseconds since 1970',
  )
  return undefined
}

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
