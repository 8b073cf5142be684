import { answered, done } from './calls.ts'
import { chargeOf, clampUnits, fits, spend } from './capacity.ts'
import type { BookingRules, BookStep, SettlingStep } from './messages.ts'
import { pauseOf, payRetry } from './pauses.ts'
import { serve } from './queue.ts'
import { addCall, noTicks, type UpstreamState } from './state.ts'

/**
 * Gives a place at once where one is free and nobody waits: the same as an exchange with this one booking, without
 * looking at everything else. Returns false if it cannot; then nothing was changed.
 */
export function holdNow(
  state: UpstreamState,
  rules: BookingRules,
  owner: string,
  id: string,
  call: Pick<BookStep, 'tenant' | 'weight' | 'scope' | 'units' | 'first'>,
  serverMs: number,
): boolean {
  if (state.waiting > 0 || state.recovering) return false
  const nowMs = Math.max(state.lastMs, serverMs - state.skewMs)
  if (call.scope !== '' && pauseOf(state, call.scope, nowMs) > 0) return false
  const units = clampUnits(rules.limits, call.units)
  if (!fits(state, rules, units, nowMs)) return false
  state.lastMs = nowMs
  state.owners.set(owner, nowMs)
  if (call.first) payRetry(state, rules)
  serve(state, call.tenant, chargeOf(rules.limits, units, call.weight))
  spend(state, units)
  addCall(state, id, { owner, phase: 'held', untilMs: nowMs + rules.heldMs, units, ticks: noTicks })
  return true
}

/**
 * Runs a step of a call that held a place; true when calls wait. The end of a call whose cost is not corrected needs no
 * time.
 */
export function settleNow(
  state: UpstreamState,
  rules: BookingRules,
  owner: string,
  step: SettlingStep,
  serverMs: number | undefined,
): boolean {
  const nowMs = serverMs === undefined ? state.lastMs : Math.max(state.lastMs, serverMs - state.skewMs)
  // A process that left is present again until its calls are over, so that others adopt the places of those.
  if (!state.owners.has(owner)) state.owners.set(owner, nowMs)
  if (step.op === 'answered') answered(state, rules, owner, step, nowMs)
  else done(state, rules, owner, step, nowMs)
  return state.waiting > 0
}
