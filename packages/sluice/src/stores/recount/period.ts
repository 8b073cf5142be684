import { calendarPeriod, type Period } from '../../core/algorithms/calendar-period.ts'
import type { ChargeTerms } from '../../core/engine/ask.ts'

/** The calendar period of a charge's only limit. */
export function periodOf({ limits }: ChargeTerms, nowUs: number): Period {
  const { calendar, zone } = limits.limits[0]!
  return calendarPeriod(calendar!, zone!, Math.floor(nowUs / 1000))
}
