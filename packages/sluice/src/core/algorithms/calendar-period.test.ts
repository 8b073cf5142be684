import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CalendarUnit, calendarPeriod, isZone } from './calendar-period.ts'

// Clocks that change at midnight, at half hours, by half an hour, across the date line, and not at all.
const zones = [
  ...['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'America/Sao_Paulo', 'America/Santiago'],
  ...['Asia/Beirut', 'Africa/Cairo', 'Australia/Lord_Howe', 'Asia/Tehran', 'America/Havana', 'Pacific/Apia'],
  ...['Pacific/Kiritimati', 'Asia/Gaza', 'Atlantic/Azores', 'America/Asuncion'],
]
const units: readonly CalendarUnit[] = ['day', 'week', 'month']

const dates = new Map<string, Intl.DateTimeFormat>()
function localDate(zone: string, atMs: number): string {
  let format = dates.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' })
    dates.set(zone, format)
  }
  return format.format(atMs)
}

/** The name of the period that a local date is in. */
function periodName(unit: CalendarUnit, date: string): string {
  if (unit === 'day') return date
  if (unit === 'month') return date.slice(0, 7)
  const day = Date.parse(`${date}T00:00:00Z`)
  const monday = day - ((new Date(day).getUTCDay() + 6) % 7) * 86_400_000
  return new Date(monday).toISOString().slice(0, 10)
}

const instant = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2037, 0, 1) })

describe('a calendar period', () => {
  it('contains its instant, and all of its ends are in the period of that name while their neighbours are not', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.constantFrom(...units), instant, (zone, unit, atMs) => {
        const { startMs, endMs } = calendarPeriod(unit, zone, atMs)
        const name = (ms: number): string => periodName(unit, localDate(zone, ms))
        expect(startMs <= atMs && atMs < endMs, `${unit} ${zone} ${atMs}: ${startMs} to ${endMs}`).toBe(true)
        const names = [name(startMs - 1), name(startMs), name(endMs - 1), name(endMs)]
        const here = name(atMs)
        expect(
          names.map((each) => each === here),
          `${unit} ${zone} ${atMs}`,
        ).toEqual([false, true, true, false])
      }),
      { numRuns: 2000 },
    )
  })

  it('is followed by the next one without a gap, day by day over years of changing clocks', () => {
    // In Newfoundland, clocks used to change at one minute past midnight.
    for (const zone of [...zones, 'America/St_Johns']) {
      let at = zone === 'America/St_Johns' ? Date.UTC(2009, 0, 1) : Date.UTC(2015, 0, 1)
      for (let day = 0; day < 400; day++) {
        const period = calendarPeriod('day', zone, at)
        const next = calendarPeriod('day', zone, period.endMs)
        expect(next.startMs, `${zone} ${new Date(at).toISOString()}`).toBe(period.endMs)
        expect(calendarPeriod('day', zone, period.endMs - 1).startMs, zone).toBe(period.startMs)
        at = next.startMs
      }
    }
  })

  it('is a day of 23 or 25 hours where clocks change', () => {
    const hours = (zone: string, date: string): number => {
      const { startMs, endMs } = calendarPeriod('day', zone, Date.parse(date))
      return (endMs - startMs) / 3_600_000
    }
    expect(hours('Europe/Berlin', '2026-03-29T12:00:00Z')).toBe(23)
    expect(hours('Europe/Berlin', '2026-10-25T12:00:00Z')).toBe(25)
    expect(hours('America/New_York', '2026-03-08T18:00:00Z')).toBe(23)
    expect(hours('America/New_York', '2026-11-01T18:00:00Z')).toBe(25)
    expect(hours('Asia/Kathmandu', '2026-03-29T12:00:00Z')).toBe(24)
    // Midnight itself did not exist: the day began at 01:00.
    expect(hours('America/Sao_Paulo', '2018-11-04T12:00:00Z')).toBe(23)
    expect(calendarPeriod('day', 'America/Sao_Paulo', Date.parse('2018-11-04T12:00:00Z')).startMs).toBe(
      Date.parse('2018-11-04T03:00:00Z'),
    )
    // And in autumn the last hour of a day came twice.
    expect(hours('America/Sao_Paulo', '2018-02-17T12:00:00Z')).toBe(25)
  })

  it('starts weeks on Monday and months on the first', () => {
    const berlin = calendarPeriod('week', 'Europe/Berlin', Date.parse('2026-03-29T12:00:00Z'))
    expect(new Date(berlin.startMs).toISOString()).toBe('2026-03-22T23:00:00.000Z')
    expect(new Date(berlin.endMs).toISOString()).toBe('2026-03-29T22:00:00.000Z')
    const february = calendarPeriod('month', 'UTC', Date.parse('2028-02-29T23:59:59.999Z'))
    expect(new Date(february.endMs).toISOString()).toBe('2028-03-01T00:00:00.000Z')
  })

  it('knows which zones there are', () => {
    expect(isZone('Europe/Berlin')).toBe(true)
    for (const wrong of ['Berlin', 'Europe/Atlantis', '', '../etc/passwd']) expect(isZone(wrong)).toBe(false)
  })
})
