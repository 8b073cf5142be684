import type { BookedLimit, BookingRules, InstantsStep, ReturnStep, StepResult, Units } from './messages.ts'
import { rampMs, type UpstreamState } from './state.ts'

/** A limit with more units than this records instants in ticks of a thousandth of its period. */
const mostSingle = 100

/**
 * Books instants: when each call may be sent, so that no period has more of them than a limit allows. The margin
 * lengthens the period by the spread of delays, as what is sent a period apart may arrive closer together. Instants are
 * never given out of order.
 *
 *     even    one after the other, a period divided by the amount apart
 *     burst   at once while there is room; else a period after the one that makes room
 */
export function bookInstants(
  state: UpstreamState,
  rules: BookingRules,
  owner: string,
  step: InstantsStep,
  nowMs: number,
): StepResult {
  const nowUs = nowMs * 1000
  const before = state.instantsOf.get(owner) ?? {}
  const booked: Record<string, number> = {}
  state.returned = state.returned.filter(({ atUs }) => atUs >= nowUs)
  const at = step.ids.map((id, index) => {
    const known = before[id]
    const atUs = known ?? bookOne(state, rules, step.units, step.maxWaitsMs[index]!, nowMs)
    if (atUs >= 0) booked[id] = atUs
    return atUs
  })
  // Only the last exchange of a process can lack a reply, so only that one is remembered.
  state.instantsOf.set(owner, booked)
  return { is: 'instants', at }
}

/** The instant of one call; refused with `-1 - wait` (ms) when that is too long. */
function bookOne(state: UpstreamState, rules: BookingRules, units: Units, maxWaitMs: number, nowMs: number): number {
  const nowUs = nowMs * 1000
  const reused = state.returned.findIndex((each) => isSame(rules, each.units, units))
  const given = state.returned[reused]
  if (given !== undefined && given.atUs - nowUs <= maxWaitMs * 1000) {
    state.returned.splice(reused, 1)
    return given.atUs
  }
  const pausedUs = (state.pauses.get('')?.untilMs ?? 0) * 1000
  let atUs = Math.max(nowUs, pausedUs, state.lastInstantUs)
  for (const limit of rules.limits) atUs = Math.max(atUs, earliestOf(state, rules, limit, units[limit.key] ?? 0, nowUs))
  const waitMs = Math.ceil((atUs - nowUs) / 1000)
  if (waitMs > maxWaitMs) return -1 - waitMs
  for (const limit of rules.limits) record(state, rules, limit, units[limit.key] ?? 0, atUs)
  state.lastInstantUs = atUs
  return atUs
}

function isSame({ limits }: BookingRules, a: Units, b: Units): boolean {
  return limits.every(({ key }) => (a[key] ?? 0) === (b[key] ?? 0))
}

const widthUs = ({ marginMs }: BookingRules, { periodMs }: BookedLimit): number => (periodMs + marginMs) * 1000

/** While the rate rises after a pause, a limit allows less. */
function amountAt(state: UpstreamState, { amount }: BookedLimit, atUs: number): number {
  const endedUs = atUs - (state.pauses.get('')?.untilMs ?? Number.NEGATIVE_INFINITY) * 1000
  if (endedUs >= rampMs * 1000) return amount
  return Math.max(1, Math.floor(amount * (0.25 + (0.75 * Math.max(0, endedUs)) / (rampMs * 1000))))
}

function earliestOf(
  state: UpstreamState,
  rules: BookingRules,
  limit: BookedLimit,
  units: number,
  nowUs: number,
): number {
  if (rules.spacing === 'even') return state.nextUs.get(limit.key) ?? 0
  const width = widthUs(rules, limit)
  const log = (state.logs.get(limit.key) ?? []).filter(([atUs]) => atUs > nowUs - width)
  state.logs.set(limit.key, log)
  let taken = log.reduce((sum, [, each]) => sum + each, 0)
  let atUs = 0
  for (const [oldUs, each] of log) {
    if (taken + Math.min(units, limit.amount) <= limit.amount) break
    taken -= each
    atUs = oldUs + width
  }
  return atUs
}

function record(state: UpstreamState, rules: BookingRules, limit: BookedLimit, units: number, atUs: number): void {
  if (rules.spacing === 'even') {
    const apart = Math.ceil((units * widthUs(rules, limit)) / amountAt(state, limit, atUs))
    state.nextUs.set(limit.key, atUs + apart)
    return
  }
  const log = state.logs.get(limit.key) ?? []
  const last = log.at(-1)
  const isInTick = last !== undefined && limit.amount > mostSingle && atUs - last[0] < limit.periodMs
  if (isInTick) log[log.length - 1] = [atUs, last[1] + units]
  else log.push([atUs, units])
  state.logs.set(limit.key, log)
}

/** An instant on which nothing was sent goes to the next booking of the same size. */
export function returnInstant(state: UpstreamState, { atUs, units }: ReturnStep, nowMs: number): StepResult {
  if (atUs < nowMs * 1000) return { is: 'no' }
  state.returned = [...state.returned, { atUs, units }].sort((a, b) => a.atUs - b.atUs)
  return { is: 'ok' }
}
