import type { BookingRules, Exchange, Step } from '../booking/messages.ts'

/** One exchange of a random history, and how long after the one before it comes. */
export interface HistoryStep extends Exchange {
  readonly waitMs: number
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/**
 * A random history of an upstream: several processes that book, send, settle, fall silent, and lose or repeat steps.
 */
export function randomHistory(seed: number, length = 60): readonly HistoryStep[] {
  const random = seeded(seed)
  const below = (n: number): number => Math.floor(random() * n)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
  const rules = randomRules(below, pick)
  const owners = ['a', 'b', 'c'].slice(0, 1 + below(3))
  const ids: Record<string, string[]> = { a: [], b: [], c: [] }
  let next = 0
  const idOf = (owner: string): string =>
    ids[owner]!.length === 0 || below(20) === 0 ? 'x0' : pick(ids[owner]!.slice(-5))
  const ticks = (): Record<string, string> => Object.fromEntries(rules.limits.map(({ key }) => [key, `${below(3)}`]))
  const units = (most: number): Record<string, number> =>
    Object.fromEntries(rules.limits.map(({ key, periodMs }) => [key, periodMs === 0 ? 1 : below(most)]))

  const instants: number[] = [1_000_000_000]
  const single = units(3)

  const step = (owner: string): Step => {
    const chance = below(100)
    if (chance < 40) {
      const id = below(8) === 0 ? idOf(owner) : `${owner}${next++}`
      if (!ids[owner]!.includes(id)) ids[owner]!.push(id)
      const [tenant, weight] = [pick(['', 'red', 'blue', 'z z']), pick([1, 1, 3, 0.5])]
      const times = {
        priorityMs: pick([0, 0, 500, -500]),
        waitedMs: below(3) * 100.5,
        maxWaitMs: pick([0, 3000, 60_000]),
      }
      return {
        op: 'book',
        id,
        tenant,
        weight,
        ...times,
        scope: pick(['', '', 'route']),
        units: units(4),
        first: below(2) === 0,
      }
    }
    if (chance < 52) return { op: 'cancel', id: idOf(owner) }
    if (chance < 68) return { op: 'answered', id: idOf(owner), ticks: ticks() }
    if (chance < 78) {
      const settled = below(3) > 0 ? { units: units(6) } : {}
      return { op: 'done', id: idOf(owner), ...settled, ticks: ticks() }
    }
    if (chance < 90) return { op: 'free', limit: pick(rules.limits).key, tick: `${below(3)}` }
    if (chance < 93) {
      const [ms, maxMs] = [pick([-1, 0, 500, 5000]), pick([1000, 60_000])]
      return { op: 'pause', scope: pick(['', 'route']), ms, sentAgoMs: pick([0, 100, 5000]), chance: random(), maxMs }
    }
    if (chance < 94) return { op: 'retry' }
    if (chance < 96) {
      if (below(4) === 0) return { op: 'return', atUs: pick(instants), units: single }
      const ids = Array.from({ length: 1 + below(4) }, () => (below(6) === 0 ? 'same' : `${owner}i${next++}`))
      const maxWaitsMs = ids.map(() => pick([0, 700, 60_000]))
      for (const at of [0, 400, 900, 2500]) instants.push((1_000_000 + at) * 1000)
      return { op: 'instants', ids: [...new Set(ids)], units: single, maxWaitsMs }
    }
    if (chance < 98) {
      const calls = [{ id: `${owner}${next++}`, units: units(3), ...(below(2) === 0 ? { ticks: ticks() } : {}) }]
      const groups = [{ limit: pick(rules.limits).key, tick: `${below(4)}`, units: 1 + below(3) }]
      return { op: 'register', calls, groups }
    }
    return below(2) === 0 ? { op: 'leave' } : { op: 'recovered', epoch: pick(['', 'e1']) }
  }

  return Array.from({ length }, (): HistoryStep => {
    const owner = pick(owners)
    const steps = Array.from({ length: below(5) }, () => step(owner))
    // Mostly too short for anything to expire.
    const waitMs = below(12) === 0 ? pick([2000, 3100, 12_000, -2000]) : pick([0, 1, 10, 100, 300, 700, 1100])
    return { owner, sinceMs: pick([-1, -1, -1, -1, 0, 100.25, 2000, 20_000]), rules, steps, waitMs }
  })
}

function randomRules(below: (n: number) => number, pick: <T>(list: readonly T[]) => T): BookingRules {
  const limits = [
    { key: 'requests/1000', amount: 1 + below(5), periodMs: 1000 },
    { key: 'tokens/60000', amount: 5 + below(10), periodMs: 60_000 },
    { key: 'in-flight', amount: 1 + below(4), periodMs: 0 },
  ].slice(0, 1 + below(3))
  return {
    limits,
    maxQueue: pick([2, 5, 100]),
    maxQueuePerTenant: pick([2, 100]),
    heldMs: 4000,
    spacing: pick(['even', 'burst']),
    marginMs: pick([0, 30]),
    retryPerCall: 100,
    retryPerSecond: 1000,
  }
}
