import type { CalendarUnit } from '../algorithms/calendar-period.ts'
import { algorithmNames } from '../algorithms/index.ts'
import type { Pace } from '../algorithms/limit.ts'
import { type Limit, maxPeriodMs } from '../algorithms/limit.ts'

// A tag is a number that is stored beside the fields of a limit and says what they count: the algorithm, the period and
// how windows are aligned, not the amount. So the limits of one set are found again in what another set has stored, and
// a limit that the reader's set does not have can still be kept until it ends. Usual limits have a tag below 128, which
// MessagePack keeps in one byte:
//
//     usual:     code x 16 + kind, where kind is the index of the period, and 4 more when aligned
//     other:     128 + ((periodMs x 2 + aligned) x 16 + number) x 8 + code
//     calendar:  128 + ((hash of the zone x 4 + unit) x 16 + number) x 8 + code
//     share:     128 + ((hash of the window x 2^22 + hash of the class) x 16 + number) x 8 + code
//
// `number` distinguishes limits of one set that differ only in their amounts. `lua/tags.lua` reads tags too.

const usualPeriods = [1000, 60_000, 3_600_000, 86_400_000]
const units: readonly CalendarUnit[] = ['day', 'week', 'month']
/** Upper bounds for a day, a week and a month in ms, whatever a zone does to its clocks. */
const longestMs = [2, 8, 32].map((days) => days * 86_400_000)
/** Their periods are those of a calendar. */
const calendarCodes: readonly number[] = [algorithmNames.indexOf('calendar'), algorithmNames.indexOf('pace')]
const hashBits = 22

/** The tag of a limit, different from those that the set has already. */
export function tagOf(limit: Limit, taken: readonly number[]): number {
  const code = algorithmNames.indexOf(limit.algorithm)
  const kind = usualKind(limit)
  let tag = kind < 0 ? wideTag(limit, code, 0) : code * 16 + kind
  for (let number = 1; taken.includes(tag); number++) tag = wideTag(limit, code, number)
  return tag
}

/** The algorithm's code in a tag, the index in `algorithmNames`. */
export function codeOf(tag: number): number {
  return tag < 128 ? tag >> 4 : tag % 8
}

const known = new Map<number, Limit>()

/**
 * As much of a limit as its tag says: enough to know when its state ends and to give back, not to decide. A calendar
 * period counts as a window from its start that is longer than the period.
 */
export function limitOfTag(tag: number): Limit {
  const limit = known.get(tag) ?? readTag(tag)
  if (known.size < 1000) known.set(tag, limit)
  return limit
}

/** A tag does not contain the curve. */
const anyPace: Pace = { weights: undefined, interval: 0, catchUp: 1 }

function readTag(tag: number): Limit {
  const code = codeOf(tag)
  const isUsual = tag < 128
  const rest = isUsual ? tag % 16 : Math.floor((tag - 128) / 128)
  const common = {
    name: '',
    amount: 0,
    burst: 0,
    intervalUs: 0,
    calendar: undefined,
    zone: undefined,
    pace: undefined,
    share: undefined,
  }
  if (calendarCodes.includes(code)) {
    const pace = algorithmNames[code] === 'pace' ? anyPace : undefined
    const periodMs = longestMs[rest % 4] ?? maxPeriodMs
    return { ...common, algorithm: 'fixed-window', periodMs, aligned: false, pace }
  }
  const periodMs = isUsual ? usualPeriods[rest % 4]! : Math.floor(rest / 2)
  return { ...common, algorithm: algorithmNames[code]!, periodMs, aligned: isUsual ? rest >= 4 : rest % 2 === 1 }
}

function usualKind({ algorithm, periodMs, aligned, calendar, zone }: Limit): number {
  if (algorithm === 'calendar' || algorithm === 'pace') return zone === 'UTC' ? units.indexOf(calendar!) : -1
  if (algorithm === 'concurrency') return 0
  if (algorithm === 'share') return -1
  const usual = usualPeriods.indexOf(periodMs)
  return usual < 0 || !aligned ? usual : usual + 4
}

function wideTag({ periodMs, aligned, calendar, zone, share }: Limit, code: number, number: number): number {
  const what = share
    ? hash(`${periodMs} ${aligned} ${calendar} ${zone}`) * 2 ** hashBits + hash(share.class)
    : calendarCodes.includes(code)
      ? hash(zone!) * 4 + units.indexOf(calendar!)
      : periodMs * 2 + (aligned ? 1 : 0)
  return 128 + (what * 16 + number) * 8 + code
}

/** FNV-1a, folded. */
export function hash(text: string): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return (sum ^ (sum >>> hashBits)) & ((1 << hashBits) - 1)
}
