import { algorithms } from '../algorithms/index.ts'
import type { Charge, HoldRequest, KnownHold } from './ask.ts'
import { spend } from './spend.ts'
import { extraOf, type Hold, type State } from './state.ts'
import { limitOfTag } from './tag.ts'

export function addHold(state: State, { cost, limits }: Charge, { id, kind, ttlUs }: HoldRequest, now: number): void {
  extraOf(state).holds.push({ id, kind, takenUs: now, expiresUs: now + ttlUs, cost, tags: limits.tags })
}

export function isToHold(charge: Charge, hold: HoldRequest): boolean {
  return !hold.placesOnly || charge.limits.needsHold
}

/** What is still to be spent for a hold: who asks again with the same id pays only for what was not granted before. */
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
    if (held === undefined) return isRepeated ? { ...charge, cost: 0 } : charge
    return { ...charge, cost: Math.max(0, charge.cost - held.cost) }
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
    algorithms[limit.algorithm].giveBack(kept.state, 0, limit, units, hold.takenUs, now)
  }
}

export function settle(charge: Charge, state: State, id: string, now: number): boolean {
  const hold = findHold(state, id)
  if (hold === undefined) return false
  state.extra!.holds = state.extra!.holds.filter((each) => each !== hold)
  correct(charge, state, hold, now)
  return true
}

/** Setting the cost, instead of changing it by so much, makes doing it twice harmless. */
export function resize(charge: Charge, state: State, id: string, now: number): boolean {
  const hold = findHold(state, id)
  if (hold === undefined) return false
  correct(charge, state, hold, now)
  hold.cost = charge.cost
  return true
}

/** Gives back what a hold took beyond a charge's cost, or spends what it lacks. */
function correct(charge: Charge, state: State, hold: Hold, now: number): void {
  const unused = hold.cost - charge.cost
  if (unused > 0) giveBackHeld(charge, state, hold, unused, now)
  else if (unused < 0) spend(charge, state, -unused, now)
}

export function extend(state: State, id: string, expiresUs: number): boolean {
  const hold = findHold(state, id)
  if (hold === undefined) return false
  hold.expiresUs = expiresUs
  if (hold.kind === 'pending') hold.kind = 'acquire'
  return true
}

/** Ends the holds that have expired, each at the instant it did: the outcome does not depend on when somebody looks. */
export function expireHolds(charge: Charge, state: State, now: number): void {
  const { holds } = state.extra!
  if (holds.length === 0) return
  const gone = holds.filter((hold) => hold.expiresUs <= now)
  if (gone.length === 0) return
  state.extra!.holds = holds.filter((hold) => hold.expiresUs > now)
  for (const hold of gone.sort((a, b) => a.expiresUs - b.expiresUs)) {
    if (hold.kind !== 'acquire') giveBackHeld(charge, state, hold, hold.cost, hold.expiresUs)
  }
}

export function findHold(state: State, id: string): Hold | undefined {
  return state.extra?.holds.find((hold) => hold.id === id)
}

export function knownHold(state: State, id: string): KnownHold | undefined {
  const hold = findHold(state, id)
  return hold && { cost: hold.cost, kind: hold.kind }
}
