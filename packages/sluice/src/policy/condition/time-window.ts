import { isZone, offsetMs } from '../../core/algorithms/calendar-period.ts'
import type { TimeSpec, TimeWindowSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'

const names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const dayMinutes = 1440
const weekMinutes = 7 * dayMinutes
const minuteMs = 60_000

/** Whether a time is in a window of the week. */
export interface TimeWindow {
  holds(nowMs: number): boolean
  /** In words. */
  readonly wanted: string
}

/** Compiles `time`: hours and days in a zone. Hours that pass midnight belong to the day on which they begin. */
export function compileTime(spec: TimeSpec, path: string, report: Report): TimeWindow {
  const isNot = 'not' in spec
  const { hours, days, zone = 'UTC' } = (isNot ? spec.not : spec) as TimeWindowSpec
  const at = isNot ? `${path}.not` : path
  if (!isZone(zone)) report(`${at}.zone`, zone, 'use an IANA zone such as Europe/Berlin')
  if (hours === undefined && days === undefined)
    report(at, spec, 'give hours such as 09:00-17:00, days such as mon-fri')
  const dayList = list(days).flatMap((text) => readDays(text) ?? wrong(`${at}.days`, text, days, report))
  const hourList = list(hours).flatMap((text) => {
    const read = readHours(text)
    return read ? [read] : wrong(`${at}.hours`, text, hours, report)
  })
  const minutes = new Uint8Array(weekMinutes)
  for (const day of days === undefined ? names.keys() : dayList) {
    for (const [from, to] of hours === undefined ? [[0, dayMinutes] as const] : hourList) {
      for (let minute = from; minute < to; minute++) minutes[(day * dayMinutes + minute) % weekMinutes] = 1
    }
  }
  const wanted = [hours, days]
    .filter((each) => each !== undefined)
    .map((each) => list(each).join(' or '))
    .join(' on ')
  return {
    holds: cachedByMinute((nowMs) => (minutes[localMinute(nowMs, zone)] === 1) !== isNot),
    wanted: `the time ${isNot ? 'not ' : ''}to be ${wanted} in ${zone}`,
  }
}

const list = (value: string | readonly string[] = []): readonly string[] =>
  typeof value === 'string' ? [value] : value

function wrong(path: string, text: string, all: unknown, report: Report): [] {
  const remedy = path.endsWith('hours')
    ? 'use hours such as 09:00-17:00 or 22:00-06:00'
    : `use ${names.join(', ')}, or mon-fri`
  report(Array.isArray(all) ? `${path}[${all.indexOf(text)}]` : path, text, remedy)
  return []
}

/** Monday is 0. */
function readDays(text: string): readonly number[] | undefined {
  const [first = -1, last = first, ...more] = text
    .toLowerCase()
    .split('-')
    .map((name) => names.indexOf(name.trim()))
  if (first < 0 || last < 0 || more.length > 0) return undefined
  return Array.from({ length: ((last - first + 7) % 7) + 1 }, (_, i) => (first + i) % 7)
}

/** From a minute of the day to another, which is of the next day where the hours pass midnight. */
function readHours(text: string): readonly [from: number, to: number] | undefined {
  const [, h1, m1, h2, m2] = /^\s*(\d\d?):(\d\d)\s*-\s*(\d\d?):(\d\d)\s*$/.exec(text) ?? []
  const [from, to] = [Number(h1) * 60 + Number(m1), Number(h2) * 60 + Number(m2)]
  if (!(from < dayMinutes && to <= dayMinutes && from !== to && Number(m1) < 60 && Number(m2) < 60)) return undefined
  return [from, to < from ? to + dayMinutes : to]
}

/** The minute of the week on the wall clock of a zone. Day 0 of 1970 was a Thursday. */
function localMinute(nowMs: number, zone: string): number {
  const local = Math.floor((nowMs + offsetMs(zone, nowMs)) / minuteMs)
  return (((local + 3 * dayMinutes) % weekMinutes) + weekMinutes) % weekMinutes
}

/** Looking at a wall clock costs more than a decision, and it shows the same for a minute. */
function cachedByMinute(holds: (nowMs: number) => boolean): (nowMs: number) => boolean {
  let minute = Number.NaN
  let known = false
  return (nowMs) => {
    const present = Math.floor(nowMs / minuteMs)
    if (present !== minute) {
      known = holds(nowMs)
      minute = present
    }
    return known
  }
}
