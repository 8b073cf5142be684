import { rampUs } from '../constants.ts'
import type { BookedLimit, BookingRules, Exchange, ExchangeReply, Units } from '../messages.ts'
import { freeInUs, type Limit, type LimitLog, pacedUntilUs } from './log.ts'
import type { GrantRecord, OwnerRecord, UpstreamState } from './state.ts'

/** What is decided by. */
export interface Decider {
  readonly state: UpstreamState
  readonly rules: BookingRules
  readonly limits: readonly Limit[]
  /** The limits with a period. */
  readonly logged: readonly { readonly limit: Limit; readonly log: LimitLog }[]
  /** Units by limit that are kept for waiters of other processes whose turn it is. */
  readonly reserved: Map<string, number>
}

/** One exchange while it runs. */
export interface Exchanging extends Decider {
  readonly asked: Exchange
  readonly owner: OwnerRecord
  /** The grants of its process by name. */
  readonly own: Map<string, GrantRecord>
  /** What it gives to its process. */
  readonly grants: ExchangeReply['grants'][number][]
  readonly paused: ExchangeReply['paused'][number][]
}

/** Decides by the limits in force, whose logs are there. */
export function deciderOf(state: UpstreamState, rules: BookingRules, limits: readonly Limit[]): Decider {
  const logged = limits.flatMap((limit) => {
    const log = state.logs.get(limit.key)
    return log ? [{ limit, log }] : []
  })
  return { state, rules, limits, logged, reserved: new Map() }
}

/** What a call takes of a limit. One that needs more than the whole limit takes all of it. */
export function costOf({ unit, amount }: Limit, units: Units): number {
  return unit === 'requests' ? 1 : Math.min(units[unit] ?? 1, amount)
}

/** How much of a limit is taken: by calls that arrived within the period, or that are in flight. */
export function usedOf({ logs, owners }: UpstreamState, { key, periodMs }: BookedLimit): number {
  if (periodMs > 0) return logs.get(key)?.total ?? 0
  let inFlight = 0
  for (const { granted, ended } of owners.values()) inFlight += Math.max(0, granted - ended)
  return inFlight
}

/** How much of a limit may be used now: less than its amount after a refusal, and while its log is not complete. */
function allowed({ state, rules }: Decider, limit: Limit): number {
  const { verifiedUs } = state.time
  const log = state.logs.get(limit.key)
  if (log === undefined) return limit.amount
  let most = limit.amount
  const pause = state.pauses.get('')
  if (pause?.refused && verifiedUs < pause.untilUs + rampUs) {
    const share = 0.25 + (0.75 * (verifiedUs - pause.untilUs)) / rampUs
    most = Math.max(1, Math.floor(limit.amount * share))
  }
  if (verifiedUs >= pacedUntilUs(log, limit)) return most
  if (rules.afterLoss === 'wait') return 0
  const paced = Math.floor((limit.amount * (verifiedUs - log.sinceUs)) / limit.countedUs)
  return Math.min(most, Math.max(1, paced))
}

/** For how much longer nothing is granted. */
export function closedUs({ openUs, pauses, time }: UpstreamState): number {
  return Math.max(0, openUs - time.verifiedUs, (pauses.get('')?.untilUs ?? 0) - time.verifiedUs)
}

/**
 * Whether a call fits beside all that is taken and reserved. One that needs more than a limit allows now is sent when
 * nothing else is taken.
 */
export function fits(by: Decider, units: Units): boolean {
  if (closedUs(by.state) > 0) return false
  for (const limit of by.limits) {
    const taken = usedOf(by.state, limit) + (by.reserved.get(limit.key) ?? 0)
    const most = allowed(by, limit)
    if (taken + costOf(limit, units) > most && (taken > 0 || most <= 0)) return false
  }
  return true
}

/** A call that waits for what is in flight looks again so often. */
const inFlightUs = 10_000
/** How often it is looked at a rate that rises after a refusal. */
const rampStepUs = 100_000

/**
 * From now until a call can have its turn, with so many calls (and units of them, by unit) before it: when enough units
 * have left the log. `least` is for a call that is refused because of it: then calls that are not reported yet may give
 * their units back at once.
 */
export function turnInUs(by: Decider, units: Units, ahead: number, aheadUnits: Units, least: boolean): number {
  const { state, reserved } = by
  const { verifiedUs } = state.time
  let inUs = closedUs(state)
  for (const limit of by.limits) {
    const before = limit.unit === 'requests' ? ahead : (aheadUnits[limit.unit] ?? 0)
    const wanted = usedOf(state, limit) + (least ? 0 : (reserved.get(limit.key) ?? 0)) + before + costOf(limit, units)
    const log = state.logs.get(limit.key)
    if (log === undefined) {
      if (wanted > limit.amount && !least) inUs = Math.max(inUs, inFlightUs)
      continue
    }
    inUs = Math.max(inUs, freeInUs(log, limit, wanted - limit.amount, verifiedUs, least ? 'now' : 'granted'))
    inUs = Math.max(inUs, pacedInUs(by, limit, wanted))
    const pause = state.pauses.get('')
    const isRamping = pause?.refused && verifiedUs < pause.untilUs + rampUs
    if (isRamping && !least && wanted > allowed(by, limit)) inUs = Math.max(inUs, rampStepUs)
  }
  return inUs
}

/** When a limit whose log is not complete allows so much. */
function pacedInUs({ state, rules }: Decider, limit: Limit, wanted: number): number {
  const log = state.logs.get(limit.key)!
  const leftUs = pacedUntilUs(log, limit) - state.time.verifiedUs
  if (leftUs <= 0) return 0
  if (rules.afterLoss === 'wait') return leftUs
  if (wanted <= 1) return 0
  const reachedUs = log.sinceUs + Math.ceil((Math.min(wanted, limit.amount) * limit.countedUs) / limit.amount)
  return Math.max(0, reachedUs - state.time.verifiedUs)
}

/** What a service costs in virtual time: its share of the limit of which it takes most. */
export function chargeOf(limits: readonly Limit[], units: Units, weight: number): number {
  let share = 0
  for (const limit of limits) share = Math.max(share, costOf(limit, units) / limit.amount)
  return Math.ceil((share * 1e6) / weight)
}
