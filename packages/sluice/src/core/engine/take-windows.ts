import { calendarPeriod } from '../algorithms/calendar-period.ts'
import { type Limit, windowMsOf } from '../algorithms/limit.ts'
import type { State } from '../algorithms/state.ts'
import { countAt, endOf, msOf, startAt } from '../algorithms/window.ts'
import type { Answer, ChargeTerms, LimitStatus } from './ask.ts'

/**
 * `take` of one subject whose limits are all windows and which has no holds, as nearly all have. Says what the engine
 * would say by asking the algorithm of each limit for its room, to spend and when it ends; looking at every window only
 * once takes a third of the time.
 */
export function takeWindows(
  { rule, limits: set, cost }: ChargeTerms,
  { n, at }: State,
  copies: number,
  now: number,
): Answer {
  const { limits } = set
  const { length } = limits
  const nowMs = msOf(now)
  let granted = copies
  for (let l = 0, i = at; l < length; l++, i += 2) {
    const limit = limits[l]!
    // A window without a count is none.
    n[i + 1] = countAt(limit, n[i]!, n[i + 1]!, nowMs)
    const room = Math.max(0, limit.amount - n[i + 1]!)
    if (room < granted * cost) granted = Math.floor(room / cost)
  }
  const units = granted * cost
  const passed = granted === copies
  const statuses = new Array<LimitStatus>(length)
  for (let l = 0, i = at; l < length; l++, i += 2) {
    const limit = limits[l]!
    const { amount } = limit
    if (units > 0) {
      if (n[i + 1] === 0) n[i] = startAt(limit, nowMs)
      n[i + 1]! += units
    }
    const count = n[i + 1]!
    const remaining = Math.max(0, amount - count)
    const resetMs = count > 0 ? endOf(limit, n[i]!) - nowMs : 0
    let retryAfterMs = 0
    if (!passed && remaining < cost) retryAfterMs = cost > amount ? Infinity : resetMs
    statuses[l] = {
      rule: rule.name,
      name: limit.name,
      amount,
      remaining,
      windowMs: windowMsOf(limit),
      resetMs,
      retryAfterMs,
    }
    if (limit.calendar !== undefined) statuses[l] = withPeriod(statuses[l]!, limit, nowMs)
  }
  return { allowed: passed, granted, nowUs: now, statuses: [statuses] }
}

/** The status of a calendar limit, with the period that it is about. */
export function withPeriod(status: LimitStatus, { calendar, zone }: Limit, nowMs: number): LimitStatus {
  const { rule, name, amount, remaining, windowMs, resetMs, retryAfterMs } = status
  const period = calendarPeriod(calendar!, zone!, nowMs).dates
  return { rule, name, amount, remaining, windowMs, resetMs, retryAfterMs, period }
}
