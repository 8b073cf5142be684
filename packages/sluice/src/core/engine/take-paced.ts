import { calendarPeriod } from '../algorithms/calendar-period.ts'
import { windowMsOf } from '../algorithms/limit.ts'
import { drawFrom, fill, pace, paceRoom } from '../algorithms/pace.ts'
import { plannedAt, positionAt, segmentAt } from '../algorithms/pace-curve.ts'
import type { State } from '../algorithms/state.ts'
import { msOf } from '../algorithms/window.ts'
import type { Answer } from './answer.ts'
import type { PacedTerms } from './limit-set.ts'

/**
 * `take` of one subject with a calendar limit and its pace, without holds. Says what the engine would say by asking the
 * algorithms of both one by one; looking at the curve only once takes half of the time.
 */
export function takePaced({ rule, limits: set, cost }: PacedTerms, state: State, copies: number, now: number): Answer {
  const [total, paced] = set.limits as [(typeof set.limits)[0], (typeof set.limits)[0]]
  const { n, at: i } = state
  const nowMs = msOf(now)
  const segment = segmentAt(paced, nowMs)
  const { startMs, endMs } = segment.period
  const position = positionAt(segment, nowMs)
  const planned = plannedAt(paced, position)
  let count = n[i] === startMs ? n[i + 1]! : 0
  if (n[i + 2] !== startMs) {
    n[i + 3] = 0
    fill(n, i + 4)
  }
  let spent = n[i + 3]!
  let left = Math.max(0, total.amount - count)
  let room = paceRoom(n, i + 2, paced, position, planned)
  const granted = Math.min(copies, cost === 0 ? copies : Math.floor(Math.min(left, room) / cost))
  const units = granted * cost
  const passed = granted === copies
  if (units > 0) {
    count += units
    spent += units
    n[i] = startMs
    n[i + 1] = count
    n[i + 2] = startMs
    n[i + 3] = spent
    drawFrom(n, i + 4, paced, units, position)
  }
  left -= units
  room -= units
  const resetMs = endMs - nowMs
  const period = calendarPeriod(total.calendar!, total.zone!, nowMs).dates
  let waitMs = 0
  if (!passed && room < cost) {
    waitMs = cost > paced.burst ? Infinity : Math.ceil(pace.waitUs(state, i + 2, paced, cost, now) / 1000)
  }
  const statuses = [
    {
      rule: rule.name,
      name: total.name,
      amount: total.amount,
      remaining: left,
      windowMs: windowMsOf(total),
      resetMs: count > 0 ? resetMs : 0,
      retryAfterMs: passed || left >= cost ? 0 : cost > total.burst ? Infinity : resetMs,
      period,
    },
    {
      rule: rule.name,
      name: paced.name,
      amount: paced.amount,
      remaining: room,
      windowMs: windowMsOf(paced),
      resetMs: n[i + 2] === startMs ? resetMs : 0,
      retryAfterMs: waitMs,
      period,
      pace: { planned, spent, burst: paced.burst },
    },
  ]
  return { allowed: passed, granted, nowUs: now, statuses: [statuses] }
}
