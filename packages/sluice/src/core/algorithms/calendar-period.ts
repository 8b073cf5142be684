/** The calendar periods a limit can have. A week starts on Monday. */
export type CalendarUnit = 'day' | 'week' | 'month'

/** From `startMs` up to, not including, `endMs`. */
export interface Period {
  readonly startMs: number
  readonly endMs: number
  readonly dates: PeriodDates
}

/** The same for people: the period ends before `end`. */
export interface PeriodDates {
  readonly start: Date
  readonly end: Date
}

const dayMs = 86_400_000
/** By unit and zone: no key has to be put together for every decision. */
const latest: Readonly<Record<CalendarUnit, Map<string, Period>>> = {
  day: new Map(),
  week: new Map(),
  month: new Map(),
}
const formats = new Map<string, Intl.DateTimeFormat>()

/**
 * The calendar period that contains an instant, in an IANA zone. A day of 23 or 25 hours is one day.
 *
 * @example calendarPeriod('month', 'UTC', Date.UTC(2026, 0, 15)) // January 2026
 */
export function calendarPeriod(unit: CalendarUnit, zone: string, atMs: number): Period {
  const known = latest[unit].get(zone)
  if (known && atMs >= known.startMs && atMs < known.endMs) return known
  const today = Math.floor((atMs + offsetMs(zone, atMs)) / dayMs)
  let period = periodFrom(unit, zone, firstDay(unit, today))
  // Where the clock is set back over midnight, the date is yesterday's once more: a period that has begun goes on all
  // the same.
  if (atMs >= period.endMs) period = periodFrom(unit, zone, nextPeriod(unit, firstDay(unit, today)))
  latest[unit].set(zone, period)
  return period
}

/** Whether the runtime knows a zone of that name. */
export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

function periodFrom(unit: CalendarUnit, zone: string, first: number): Period {
  const [startMs, endMs] = [midnight(zone, first), midnight(zone, nextPeriod(unit, first))]
  // Decisions share it, so a date that its user changes is a copy.
  const dates = {
    get start() {
      return new Date(startMs)
    },
    get end() {
      return new Date(endMs)
    },
  }
  return { startMs, endMs, dates }
}

// Days are counted from 1970-01-01, a Thursday; day 4 was a Monday.
function firstDay(unit: CalendarUnit, day: number): number {
  if (unit === 'day') return day
  if (unit === 'week') return Math.floor((day - 4) / 7) * 7 + 4
  const date = new Date(day * dayMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / dayMs
}

function nextPeriod(unit: CalendarUnit, first: number): number {
  return firstDay(unit, first + (unit === 'day' ? 1 : unit === 'week' ? 7 : 31))
}

/** The instant at which a local day begins, also where clocks change at midnight. */
function midnight(zone: string, day: number): number {
  const local = day * dayMs
  const before = local - offsetMs(zone, local - dayMs)
  // Where midnight comes twice, the first one counts.
  if (offsetMs(zone, before) === local - before) return before
  const after = local - offsetMs(zone, local + dayMs)
  // Where midnight does not exist, the day begins when the clock jumps, which is when the old one would have shown it.
  return offsetMs(zone, after) === local - after ? after : before
}

/** How far the zone's wall clock is ahead of UTC at an instant. */
export function offsetMs(zone: string, atMs: number): number {
  if (zone === 'UTC') return 0
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formats.set(zone, format)
  }
  const field: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(atMs)) field[type] = Number(value)
  const wall = Date.UTC(field.year!, field.month! - 1, field.day, field.hour, field.minute, field.second)
  return wall - Math.floor(atMs / 1000) * 1000
}
