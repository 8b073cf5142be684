import { addUnits } from './add-units.ts'
import { backInMs } from './answered-times.ts'
import type { BookedLimit, BookingRules, Units } from './messages.ts'
import { rampMs, type UpstreamState } from './state.ts'

/**
 * What a call occupies of each limit. A call that needs more than the whole limit gets the whole limit; otherwise it
 * would wait without end.
 */
export function clampUnits(limits: readonly BookedLimit[], units: Units): Units {
  if (isWithin(limits, units)) return units
  const clamped: Record<string, number> = {}
  for (const { key, amount } of limits) clamped[key] = Math.min(units[key] ?? 0, amount)
  return clamped
}

/** Whether units name exactly these limits, and none of them too much. */
function isWithin(limits: readonly BookedLimit[], units: Units): boolean {
  for (const { key, amount } of limits) {
    const needed = units[key]
    if (needed === undefined || needed > amount) return false
  }
  let keys = 0
  for (const _ in units) keys += 1
  return keys === limits.length
}

/** How much of a limit may be used now: less than its amount while the rate rises again after a pause. */
export function allowed(state: UpstreamState, limit: BookedLimit, nowMs: number): number {
  if (state.pauses.size === 0) return limit.amount
  const pause = limit.periodMs > 0 ? state.pauses.get('') : undefined
  if (pause === undefined || nowMs >= pause.untilMs + rampMs) return limit.amount
  if (nowMs < pause.untilMs) return 0
  const share = 0.25 + (0.75 * (nowMs - pause.untilMs)) / rampMs
  return Math.max(1, Math.floor(limit.amount * share))
}

/**
 * Whether a call fits beside all that is taken. A call that needs more than a rising limit allows is sent when nothing
 * else is taken.
 */
export function fits(state: UpstreamState, rules: BookingRules, units: Units, nowMs: number): boolean {
  for (const limit of rules.limits) {
    const used = state.used.get(limit.key) ?? 0
    const most = allowed(state, limit, nowMs)
    const needed = units[limit.key] ?? 0
    if (used + needed > most && (used > 0 || most <= 0)) return false
  }
  return true
}

export function spend(state: UpstreamState, units: Units): void {
  for (const key in units) addUnits(state.used, key, units[key]!)
}

export function unspend(state: UpstreamState, units: Units): void {
  for (const key in units) addUnits(state.used, key, -units[key]!)
}

/** How long a call waits. */
export interface Wait {
  /** No call can be served sooner, even if all calls in flight return their places unused. */
  readonly least: number
  /** When it is served if the calls in flight are answered now. */
  readonly likely: number
}

/** How long a call with so many ahead waits: until enough units are free, and whole periods for those ahead of it. */
export function waitOf(state: UpstreamState, rules: BookingRules, units: Units, ahead: number, nowMs: number): Wait {
  const pausedMs = Math.max(0, (state.pauses.get('')?.untilMs ?? 0) - nowMs)
  let [least, likely] = [pausedMs, pausedMs]
  for (const limit of rules.limits) {
    const { key, amount, periodMs } = limit
    if (periodMs === 0) continue
    const queued = state.queued.get(key) ?? 0
    const before = ahead >= state.waiting ? queued : Math.floor((queued * ahead) / state.waiting)
    const free = amount - (state.used.get(key) ?? 0)
    const lacking = before + (units[key] ?? 0) - free
    if (lacking <= 0) continue
    const rounds = Math.floor((lacking - 1) / amount)
    const back = backInMs(state, limit, lacking - rounds * amount, nowMs)
    least = Math.max(least, rounds * periodMs + back.least)
    likely = Math.max(likely, rounds * periodMs + back.likely)
  }
  return { least, likely }
}

/** What a service costs its tenant in virtual time: its share of the limit of which it takes most. */
export function chargeOf(limits: readonly BookedLimit[], units: Units, weight: number): number {
  let share = 0
  for (const { key, amount } of limits) share = Math.max(share, (units[key] ?? 0) / amount)
  return Math.ceil((share * 1e6) / weight)
}
