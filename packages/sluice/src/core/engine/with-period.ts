import { calendarPeriod } from '../algorithms/calendar-period.ts'
import type { Limit } from '../algorithms/limit.ts'
import type { LimitStatus } from './ask.ts'

/** The status of a calendar limit, with the period that it is about. */
export function withPeriod(status: LimitStatus, { calendar, zone }: Limit, nowMs: number): LimitStatus {
  const { rule, name, amount, remaining, windowMs, resetMs, retryAfterMs } = status
  const period = calendarPeriod(calendar!, zone!, nowMs).dates
  return { rule, name, amount, remaining, windowMs, resetMs, retryAfterMs, period }
}
