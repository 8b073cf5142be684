import { LRUCache } from 'lru-cache'
import { SieveMap } from '../../packages/sluice/src/cache/l1/sieve-map.ts'
import type { CaseResult } from '../report/result.ts'

const entries = 1000
const length = 400_000

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Keys by rank with probability 1 / rank^s, by the inverse of the cumulated weights. */
function zipf(keys: number, s: number, random: () => number): () => number {
  const cumulated = new Float64Array(keys)
  let sum = 0
  for (let rank = 0; rank < keys; rank++) {
    sum += 1 / (rank + 1) ** s
    cumulated[rank] = sum
  }
  return () => {
    const at = random() * sum
    let [low, high] = [0, keys - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (cumulated[middle]! < at) low = middle + 1
      else high = middle
    }
    return low
  }
}

const traces: Record<string, () => () => string> = {
  'zipf 0.9 of 20,000 keys': () => {
    const next = zipf(20_000, 0.9, seeded(1))
    return () => String(next())
  },
  'zipf 1.1 of 20,000 keys': () => {
    const next = zipf(20_000, 1.1, seeded(2))
    return () => String(next())
  },
  'zipf 0.9, every tenth from a scan': () => {
    const next = zipf(20_000, 0.9, seeded(3))
    let asked = 0
    return () => (asked++ % 10 === 0 ? `scan${asked}` : String(next()))
  },
}

function rate(next: () => string, has: (key: string) => boolean, add: (key: string) => void): number {
  let hits = 0
  for (let i = 0; i < length; i++) {
    const key = next()
    if (has(key)) hits += 1
    else add(key)
  }
  return hits / length
}

/** The share of lookups that the first level answers, compared with lru-cache with the same number of entries. */
export function benchHitRate(): CaseResult {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
  const figures = Object.entries(traces).map(([trace, start]) => {
    const sieve = new SieveMap<{ bytes: number }>(entries, Number.POSITIVE_INFINITY)
    const lru = new LRUCache<string, object>({ max: entries })
    const ours = rate(
      start(),
      (key) => sieve.get(key) !== undefined,
      (key) => sieve.set(key, { bytes: 1 }),
    )
    const theirs = rate(
      start(),
      (key) => lru.get(key) !== undefined,
      (key) => lru.set(key, {}),
    )
    return { trace, ours, theirs }
  })
  return {
    section: 'cache',
    title: `hit rate with ${entries} entries`,
    table: [
      ['trace', 'sluice (SIEVE)', 'lru-cache'],
      ...figures.map(({ trace, ours, theirs }) => [trace, percent(ours), percent(theirs)]),
    ],
    figures,
    targets: figures.map(({ trace, ours, theirs }) => ({
      claim: `${trace}: at least the hit rate of lru-cache`,
      ours: percent(ours),
      peer: percent(theirs),
      figure: (ours / theirs).toFixed(2),
      met: ours >= theirs,
    })),
  }
}
