import type { Algorithm, ShareStatus } from './algorithm.ts'
import { keptShare } from './index.ts'
import type { Limit } from './limit.ts'
import type { State } from './state.ts'
import { countAt, endOf, isCurrent, msOf, startAt, window } from './window.ts'

/**
 * What one class has of a limit that classes share. It stands right behind that limit, a window, which holds the total
 * by itself. The shares of other classes are kept aside in the state, as limits of other sets are.
 *
 * In each window, units are reserved for a class: what it spent in the window before, or its whole share if it was
 * denied there with less than its share spent. Others may use everything else, so a class may use what others leave.
 *
 * Bound: the total never exceeds the limit, and a class that was denied with less than its share spent passes, up to
 * its share, from the end of that window on. Proof: at the start of a window nothing is spent and the reserved units
 * are at most the shares, so at most the limit. What passes leaves the other classes' unspent reserved units free
 * (`room`), hence `spent + unspent reserved <= limit` holds throughout, and a class finds its reserved units free.
 *
 * State: the window's start (ms), for how long this is kept (ms), what the class spent in the window, what is reserved
 * for it there, and what is to be reserved in the next one.
 */
export const share: Algorithm = {
  ...keptShare,
  fields: 5,

  room(state, i, limit, now) {
    const nowMs = msOf(now)
    const startMs = windowStart(state, i, limit, nowMs)
    const left = limit.amount - countAt(limit, state.n[i - 2]!, state.n[i - 1]!, nowMs)
    return Math.max(
      0,
      left - Math.min(reservedForOthers(state, startMs, nowMs), limit.amount - limit.share!.guaranteed),
    )
  },

  spend(state, i, limit, units, now) {
    begin(state, i, limit, msOf(now))
    const { n } = state
    n[i + 2]! += units
    n[i + 4] = Math.max(n[i + 4]!, Math.min(n[i + 2]!, limit.share!.guaranteed))
  },

  deny(state, i, limit, cost, now) {
    const { n } = state
    const { guaranteed } = limit.share!
    if (share.room(state, i, limit, now) >= cost || spentAt(state, i, limit, msOf(now)) + cost > guaranteed) return
    begin(state, i, limit, msOf(now))
    n[i + 4] = guaranteed
  },

  resetUs(state, i, limit, now) {
    return window.endUs(state, i - 2, limit, now)
  },

  // What is reserved for a class that does not ask lapses, with windows from the first hit also within a window.
  waitUs(state, i, limit, _cost, now) {
    const startMs = windowStart(state, i, limit, msOf(now))
    const lapses = sharesOfOthers(state)
      .filter((n) => n[0] !== startMs && carriedOver(n, 0, msOf(now)) > 0)
      .map((n) => n[0]! + n[1]!)
    return Math.min(endOf(limit, startMs), ...lapses) * 1000 - now
  },

  share(state, i, limit, now): ShareStatus {
    return { ...limit.share!, spent: spentAt(state, i, limit, msOf(now)) }
  },
}

/** When the window begins, or began, of the limit that is shared. */
function windowStart({ n }: State, i: number, limit: Limit, nowMs: number): number {
  return isCurrent(limit, n[i - 2]!, nowMs) ? n[i - 2]! : startAt(limit, nowMs)
}

function spentAt(state: State, i: number, limit: Limit, nowMs: number): number {
  return state.n[i] === windowStart(state, i, limit, nowMs) ? state.n[i + 2]! : 0
}

/** What others have to leave free now: the reserved units that those classes have not spent yet. */
function reservedForOthers(state: State, startMs: number, nowMs: number): number {
  let units = 0
  for (const n of sharesOfOthers(state)) {
    // A share of a former limit may have begun at the same time and have ended since.
    const isOfWindow = n[0] === startMs && nowMs < n[0]! + n[1]!
    units += isOfWindow ? Math.max(0, n[3]! - n[2]!) : carriedOver(n, 0, nowMs)
  }
  return units
}

function sharesOfOthers({ extra }: State): Float64Array[] {
  return extra?.kept.filter(({ tag }) => isShareTag(tag)).map(({ state }) => state.n) ?? []
}

/** What the window before has left to be reserved in the present one. */
function carriedOver(n: Float64Array, i: number, nowMs: number): number {
  return n[i]! > 0 && nowMs < n[i]! + n[i + 1]! ? n[i + 4]! : 0
}

/** Begins the present window of the class, unless it has begun. Kept until the next one ends. */
function begin(state: State, i: number, limit: Limit, nowMs: number): void {
  const { n } = state
  const startMs = windowStart(state, i, limit, nowMs)
  if (n[i] === startMs) return
  n[i + 3] = Math.min(limit.share!.guaranteed, carriedOver(n, i, nowMs))
  n[i] = startMs
  n[i + 1] = endOf(limit, endOf(limit, startMs)) - startMs
  n[i + 2] = 0
  n[i + 4] = 0
}

/** Whether a tag is that of a share, whose code is the last one, and which is never a usual one (see `tag.ts`). */
function isShareTag(tag: number): boolean {
  return tag >= 128 && tag % 8 === 7
}
