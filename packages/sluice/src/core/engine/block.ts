import { type BlockMark, extraOf, type Hold, type State } from '../algorithms/state.ts'

/**
 * After so many denials, or charges, a subject is blocked: nothing passes for a while, and for longer each time. What
 * is remembered for that are holds that hold nothing, so that they expire, and outlive a change of limits, as holds do:
 *
 *     strikes      how many there were (`cost`) since the first of them, until `within` is over
 *     block        until it ends
 *     last-block   how long the last one was (`cost`, in ms), for as long as the next one is to be longer
 *
 * `lua/block.lua` is the twin.
 */
export interface BlockTerms {
  readonly after: number
  readonly withinMs: number
  readonly forMs: number
  /** Each block is so many times as long as the one before. */
  readonly grow: number
  /** The longest block; one that ended so long ago counts no more. */
  readonly maxMs: number
  /** What counts: a denial, or a charge that is final. */
  readonly counts: 'denials' | 'charges'
}

/** The block of a subject whose expired holds are gone. */
export function blockOf(state: State): Hold | undefined {
  return state.extra === undefined ? undefined : markOf(state, 'block')
}

/** How many of so many copies come before a block: none while there is one, and charges lead to one themselves. */
export function fitBeforeBlock(terms: BlockTerms | undefined, state: State, copies: number): number {
  if (blockOf(state) !== undefined) return 0
  if (terms?.counts !== 'charges') return copies
  // Terms may have changed since: the next charge then leads to a block.
  return Math.min(copies, Math.max(1, terms.after - ((state.extra && markOf(state, 'strikes')?.cost) ?? 0)))
}

/** Counts denials or charges, and blocks the subject after the last one. */
export function strike(terms: BlockTerms, state: State, times: number, now: number): void {
  if (blockOf(state) !== undefined) return
  const strikes = state.extra && markOf(state, 'strikes')
  const count = (strikes?.cost ?? 0) + times
  if (count < terms.after) {
    if (strikes === undefined) mark(state, 'strikes', count, now, terms.withinMs * 1000)
    else strikes.cost = count
    return
  }
  const last = state.extra && markOf(state, 'last-block')
  const lengthMs = last === undefined ? terms.forMs : Math.min(terms.maxMs, Math.floor(last.cost * terms.grow))
  unblock(state)
  mark(state, 'block', lengthMs, now, lengthMs * 1000)
  if (terms.grow > 1) mark(state, 'last-block', lengthMs, now, (lengthMs + terms.maxMs) * 1000)
}

/** Blocks a subject for so long from now; 0 ends its block. Says whether there was one, or is one now. */
export function blockFor(state: State, us: number, now: number): boolean {
  if (us === 0 && blockOf(state) === undefined) return false
  unblock(state)
  if (us > 0) mark(state, 'block', Math.ceil(us / 1000), now, us)
  return true
}

function unblock(state: State): void {
  if (state.extra) state.extra.holds = state.extra.holds.filter(({ id }) => id !== '')
}

function markOf(state: State, kind: BlockMark): Hold | undefined {
  // Every take of a blocked subject comes by here.
  for (const hold of state.extra!.holds) if (hold.kind === kind) return hold
  return undefined
}

/** No caller can give a hold the empty id, and without tags nothing comes back when it expires. */
function mark(state: State, kind: BlockMark, cost: number, now: number, us: number): void {
  extraOf(state).holds.push({ id: '', kind, takenUs: now, expiresUs: now + us, cost, tags: [] })
}
