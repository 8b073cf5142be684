import { keptAlgorithms } from '../algorithms/index.ts'
import { extraOf, type Hold, type State } from '../algorithms/state.ts'
import type { Charge, ChargeTerms, HoldRequest, KnownHold } from './ask.ts'
import { strike } from './block.ts'
import { changeCharge } from './charge.ts'
import { limitOfTag } from './tag.ts'

/**
 * A hold that grows is kept as one entry per taking, up to this many, so that each limit gets back what was taken from
 * it, when it was taken. Beyond it, takings count as taken with the one before: then less may come back, never more.
 */
export const maxTakings = 4

/** Notes that a charge was taken under a hold: a new one, or one that is open and grows. */
export function addTaking(state: State, { cost, limits }: Charge, hold: HoldRequest, now: number): void {
  const takings = takingsOf(state, hold.id)
  if (takings.length > 0) grow(state, takings, cost, limits.tags, now)
  else {
    const { id, kind, ttlUs } = hold
    extraOf(state).holds.push({ id, kind, takenUs: now, expiresUs: now + ttlUs, cost, tags: limits.tags })
  }
}

function grow(state: State, takings: readonly Hold[], cost: number, tags: readonly number[], now: number): void {
  if (cost === 0) return
  if (takings.length < maxTakings) {
    state.extra!.holds.push({ ...takings[0]!, takenUs: now, cost, tags })
    return
  }
  const newest = takings.at(-1)!
  newest.cost += cost
  newest.tags = newest.tags.filter((tag) => tags.includes(tag))
}

export function isToHold(charge: Charge, hold: HoldRequest): boolean {
  return !hold.permitsOnly || charge.limits.needsHold
}

/** What is still to be spent for a hold: an ask repeated with the same id pays only for what was not granted before. */
export function dueOf(
  charges: readonly Charge[],
  known: readonly (KnownHold | undefined)[],
  hold: HoldRequest,
): readonly Charge[] {
  if (known.every((held) => held === undefined)) return charges
  const toHold = charges.map((charge) => isToHold(charge, hold))
  const isRepeated = toHold.includes(true) && toHold.every((is, c) => !is || known[c] !== undefined)
  return charges.map((charge, c) => {
    const held = known[c]
    if (held === undefined) return isRepeated ? changeCharge(charge, { cost: 0 }) : charge
    return changeCharge(charge, { cost: Math.max(0, charge.cost - held.cost) })
  })
}

/** Returns units of a hold to the limits they were taken from, also to those that the present set does not have. */
function giveBackHeld(charge: Charge, state: State, hold: Hold, units: number, now: number): void {
  const { limits, algorithms: own, offsets, tags } = charge.limits
  for (let l = 0; l < limits.length; l++) {
    if (hold.tags.includes(tags[l]!))
      own[l]!.giveBack(state, state.at + offsets[l]!, limits[l]!, units, hold.takenUs, now)
  }
  for (const kept of state.extra!.kept) {
    if (!hold.tags.includes(kept.tag)) continue
    const limit = limitOfTag(kept.tag)
    keptAlgorithms[limit.algorithm].giveBack(kept.state, 0, limit, units, hold.takenUs, now)
  }
}

export function settle(charge: Charge, state: State, id: string, now: number): boolean {
  const takings = takingsOf(state, id)
  if (takings.length === 0) return false
  const lacking = charge.cost - costOf(takings)
  if (lacking > 0) spend(charge, state, lacking, now)
  else giveBackLast(charge, state, takings, -lacking, now)
  state.extra!.holds = state.extra!.holds.filter((each) => each.id !== id)
  const { block } = charge.limits
  if (block?.counts === 'charges' && charge.cost > 0) strike(block, state, 1, now)
  return true
}

/** Setting the cost, instead of changing it by so much, makes doing it twice harmless. */
export function resize(charge: Charge, state: State, id: string, now: number): boolean {
  const takings = takingsOf(state, id)
  if (takings.length === 0) return false
  const lacking = charge.cost - costOf(takings)
  if (lacking > 0) {
    spend(charge, state, lacking, now)
    grow(state, takings, lacking, charge.limits.tags, now)
    return true
  }
  giveBackLast(charge, state, takings, -lacking, now)
  state.extra!.holds = state.extra!.holds.filter((each) => each.id !== id || each === takings[0] || each.cost > 0)
  return true
}

/** Gives units of a hold back, those that were taken last first: as if it had never grown so far. */
function giveBackLast(charge: Charge, state: State, takings: readonly Hold[], units: number, now: number): void {
  let left = units
  for (let t = takings.length - 1; left > 0; t--) {
    const taking = takings[t]!
    const back = Math.min(left, taking.cost)
    if (back === 0) continue
    giveBackHeld(charge, state, taking, back, now)
    taking.cost -= back
    left -= back
  }
}

export function extend(state: State, id: string, expiresUs: number): boolean {
  const takings = takingsOf(state, id)
  for (const taking of takings) {
    taking.expiresUs = expiresUs
    if (taking.kind === 'pending') taking.kind = 'acquire'
  }
  return takings.length > 0
}

/** Ends expired holds, each at the instant it expired: the outcome does not depend on when this is called. */
export function expireHolds(charge: Charge, state: State, now: number): void {
  const { holds } = state.extra!
  if (!holds.some((hold) => hold.expiresUs <= now)) return
  const gone = holds.filter((hold) => hold.expiresUs <= now)
  state.extra!.holds = holds.filter((hold) => hold.expiresUs > now)
  for (const hold of gone.sort((a, b) => a.expiresUs - b.expiresUs)) {
    if (hold.kind !== 'acquire') giveBackHeld(charge, state, hold, hold.cost, hold.expiresUs)
  }
}

export function knownHold(state: State, id: string): KnownHold | undefined {
  const takings = takingsOf(state, id)
  return takings[0] && { cost: costOf(takings), kind: takings[0].kind }
}

/** The holds that are open, each with all that it took. */
export function openHolds(state: State): Hold[] {
  const open = new Map<string, Hold>()
  for (const taking of state.extra?.holds ?? []) {
    if (taking.id === '') continue
    const first = open.get(taking.id)
    if (first === undefined) open.set(taking.id, { ...taking })
    else first.cost += taking.cost
  }
  return [...open.values()]
}

/** What a hold took, oldest first. */
function takingsOf(state: State, id: string): Hold[] {
  return state.extra?.holds.filter((hold) => hold.id === id) ?? []
}

function costOf(takings: readonly Hold[]): number {
  return takings.reduce((sum, { cost }) => sum + cost, 0)
}

/** Spends units of every limit of a charge, whether they fit or not. */
export function spend(charge: ChargeTerms, state: State, units: number, now: number): void {
  // Nothing spent must not start a window.
  if (units === 0) return
  const { limits, algorithms, offsets } = charge.limits
  for (let l = 0; l < limits.length; l++) algorithms[l]!.spend(state, state.at + offsets[l]!, limits[l]!, units, now)
}
