import type { Case, CaseEntry } from '../measure/case.ts'

const section = 'cache'
const sluice: CaseEntry = { label: 'sluice', contender: 'sluice cache' }
const bentocache: CaseEntry = { label: 'bentocache', contender: 'bentocache' }
const cacheable: CaseEntry = { label: 'cacheable', contender: 'cacheable' }
const lru: CaseEntry = { label: 'lru-cache', contender: 'lru-cache' }
const raw: CaseEntry = { label: 'raw GET', contender: 'raw GET' }
const common = { section, limits: [], expect: 'allowed' } as const
const inRedis = (entry: CaseEntry): CaseEntry => ({ ...entry, setup: { layers: 'redis' } })
const both = (entry: CaseEntry): CaseEntry => ({ ...entry, setup: { layers: 'both' } })
const tagged = (entry: CaseEntry): CaseEntry => ({
  ...entry,
  setup: { layers: 'both', tags: ['a', 'b', 'c', 'd', 'e'] },
})
const missing = (entry: CaseEntry): CaseEntry => ({ ...entry, setup: { layers: 'both', lookups: 'miss' } })
const stale = (entry: CaseEntry): CaseEntry => ({ ...entry, setup: { lookups: 'stale' } })
const peers = [bentocache.label, cacheable.label]
const missTargets = [
  { against: bentocache.label, atLeast: 1 },
  { against: cacheable.label, atLeast: 0.8 },
]

/** Hits in the first level, awaited one after another. */
export const memoryCases: readonly Case[] = [
  {
    ...common,
    title: 'hit in process',
    subjects: 1000,
    entries: [sluice, bentocache, cacheable, lru],
    loads: [
      {
        inFlight: 1,
        targets: [...peers.map((against) => ({ against, atLeast: 8 })), { against: lru.label, atLeast: 1 / 3 }],
      },
    ],
  },
  {
    ...common,
    title: 'stale hit in process, while a fetch renews it',
    subjects: 1000,
    // cacheable has no stale values.
    entries: [sluice, bentocache].map(stale),
    loads: [{ inFlight: 1, targets: [] }],
  },
]

/** Hits with a second level in Redis, and hits in Redis itself: keys that are requested together are read together. */
export const redisCases: readonly Case[] = [
  {
    ...common,
    title: 'hit in process, Redis behind',
    subjects: 1000,
    entries: [sluice, bentocache, cacheable].map(both),
    loads: [{ inFlight: 1, targets: peers.map((against) => ({ against, atLeast: 8 })) }],
  },
  {
    ...common,
    title: 'hit in process, 5 tags',
    subjects: 1000,
    entries: [sluice, bentocache].map(tagged),
    loads: [{ inFlight: 1, targets: [{ against: bentocache.label, atLeast: 8 }] }],
  },
  {
    ...common,
    title: 'hit in Redis',
    subjects: 2000,
    entries: [sluice, bentocache, cacheable, raw].map(inRedis),
    loads: [
      { inFlight: 1, targets: peers.map((against) => ({ against, atLeast: 0.9 })) },
      { inFlight: 64, targets: peers.map((against) => ({ against, atLeast: 2.5 })) },
      { inFlight: 512, targets: peers.map((against) => ({ against, atLeast: 4 })) },
    ],
  },
  {
    ...common,
    title: 'miss in both levels, fetched and stored',
    subjects: 1000,
    entries: [sluice, bentocache, cacheable, raw].map(missing),
    loads: [
      { inFlight: 1, targets: missTargets },
      { inFlight: 64, targets: missTargets },
    ],
  },
]
