import type { Algorithm } from './algorithm.ts'
import type { Limit } from './limit.ts'
import { extraOf, type Log, type State } from './state.ts'

/**
 * Above this amount, entries share ticks of a thousandth of the period, so that no log grows beyond about a thousand
 * entries.
 */
export const maxLogEntries = 1000

/**
 * Remembers every spend until it is one period old.
 *
 * Bound: at most `amount` in any rolling window of the period. With amounts above 1,000, a unit comes back up to a
 * thousandth of the period late, never early. State: one entry (time, units) per spend or tick. Its one field only
 * gives the log an offset of its own to be filed under.
 */
export const slidingLog: Algorithm = {
  fields: 1,

  room(state, i, limit, now) {
    return Math.max(0, limit.amount - usedIn(state, i, limit, now))
  },

  spend(state, i, limit, units, now) {
    if (units === 0) return
    const log = logOf(state, i)
    dropExpired(log, limit, now)
    const last = log.times.length - 1
    // A log stays in order also when a change of the amount ends the sharing of ticks, whose times are up to a tick
    // ahead.
    const at = Math.max(tickOf(limit, now), log.times[last] ?? 0)
    if (last >= 0 && log.times[last] === at) log.costs[last]! += units
    else {
      log.times.push(at)
      log.costs.push(units)
    }
  },

  giveBack(state, i, limit, units, takenUs, now) {
    const log = logOf(state, i)
    dropExpired(log, limit, now)
    // The amount, and with it the sharing of ticks, may have changed since: what was taken stands at its time or at its
    // tick.
    const tick = nextTick(limit, takenUs)
    let left = units
    for (let e = log.times.length - 1; e >= 0 && left > 0; e--) {
      if (log.times[e]! > takenUs && log.times[e] !== tick) continue
      const back = Math.min(left, log.costs[e]!)
      left -= back
      log.costs[e]! -= back
      if (log.costs[e] === 0) {
        log.times.splice(e, 1)
        log.costs.splice(e, 1)
      }
    }
  },

  endUs(state, i, limit, now) {
    const log = logAt(state, i)
    return log && log.times.length > 0 ? Math.max(now, log.times.at(-1)! + limit.periodMs * 1000) : now
  },

  waitUs(state, i, limit, cost, now) {
    const log = logAt(state, i)!
    let used = usedIn(state, i, limit, now)
    const oldest = now - limit.periodMs * 1000
    for (let e = 0; e < log.times.length; e++) {
      if (log.times[e]! <= oldest) continue
      used -= log.costs[e]!
      if (limit.amount - used >= cost) return log.times[e]! - oldest
    }
    return limit.periodMs * 1000
  },
}

function tickOf(limit: Limit, us: number): number {
  return limit.amount <= maxLogEntries ? us : nextTick(limit, us)
}

function nextTick({ periodMs }: Limit, us: number): number {
  const tick = Math.ceil(periodMs / maxLogEntries) * 1000
  return Math.ceil(us / tick) * tick
}

function logAt(state: State, i: number): Log | undefined {
  return state.extra?.logs.get(i - state.at)
}

function logOf(state: State, i: number): Log {
  const { logs } = extraOf(state)
  let log = logs.get(i - state.at)
  if (!log) {
    log = { times: [], costs: [] }
    logs.set(i - state.at, log)
  }
  return log
}

function usedIn(state: State, i: number, limit: Limit, now: number): number {
  const log = logAt(state, i)
  if (!log) return 0
  const oldest = now - limit.periodMs * 1000
  let used = 0
  for (let e = log.times.length - 1; e >= 0 && log.times[e]! > oldest; e--) used += log.costs[e]!
  return used
}

function dropExpired(log: Log, limit: Limit, now: number): void {
  const oldest = now - limit.periodMs * 1000
  let expired = 0
  while (expired < log.times.length && log.times[expired]! <= oldest) expired++
  if (expired > 0) {
    log.times.splice(0, expired)
    log.costs.splice(0, expired)
  }
}
