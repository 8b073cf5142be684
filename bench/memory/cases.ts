import type { Case, CaseEntry } from '../measure/case.ts'
import { count } from '../report/format.ts'

const section = 'memory'
const sluice: CaseEntry = { label: 'sluice', contender: 'sluice in memory' }
const peer: CaseEntry = { label: 'RateLimiterMemory', contender: 'rate-limiter-flexible in memory' }
const union: CaseEntry = { ...peer, label: 'RateLimiterUnion' }
const bare: CaseEntry = { label: 'a map and an array', contender: 'bare windows' }
const amount = 1_000_000_000
const counted: CaseEntry = { ...sluice, label: 'counted' }
const window = [{ amount, seconds: 60 }]
const once = [{ amount: 1, seconds: 3600 }]

/** What needs no counter, beside the same with one. */
const fixedCases = (['unlimited', 'deny', 'block'] as const).map(
  (fixed): Case => ({
    section,
    title: fixed === 'block' ? '10,000 subjects, blocked' : `10,000 subjects, limits: ${fixed}`,
    subjects: 10_000,
    limits: fixed === 'unlimited' ? window : once,
    expect: fixed === 'unlimited' ? 'allowed' : 'denied',
    entries: [{ ...sluice, setup: { fixed } }, counted],
    loads: [{ inFlight: 1, targets: [] }],
  }),
)

const plans = 1_000_000
const map: CaseEntry = { label: 'a bare map', contender: 'bare map' }

/** The more keys are asked for, the fewer of them are in the caches of the processor: for a bare map, too. */
const planCases = [10, 1000, plans].map(
  (asked): Case => ({
    section,
    title: `${count(asked)} subjects of ${count(plans)} plans`,
    subjects: asked,
    limits: window,
    expect: 'allowed',
    entries: [
      { ...sluice, label: `of ${count(plans)} plans`, setup: { plans, asked } },
      ...(asked < plans ? [{ ...sluice, label: 'of no other plans', setup: { plans: asked, asked } }] : []),
      { ...counted, label: 'without plans' },
      { ...map, setup: { plans, asked } },
    ],
    loads: [{ inFlight: 1, targets: [] }],
  }),
)

/** One caller that awaits every decision: the cost for a request handler. */
export const memoryCases: readonly Case[] = [
  {
    section,
    title: '10,000 subjects, 1 limit, allowed',
    subjects: 10_000,
    limits: [{ amount, seconds: 60 }],
    expect: 'allowed',
    entries: [sluice, peer, bare],
    loads: [{ inFlight: 1, targets: [{ against: peer.label, atLeast: 3 }] }],
  },
  {
    section,
    title: '10,000 subjects, 4 limits, allowed',
    subjects: 10_000,
    limits: [1, 60, 3600, 86_400].map((seconds) => ({ amount, seconds })),
    expect: 'allowed',
    entries: [sluice, union, bare],
    loads: [{ inFlight: 1, targets: [{ against: union.label, atLeast: 15 }] }],
  },
  {
    section,
    title: '10,000 subjects, 1 limit, denied',
    subjects: 10_000,
    limits: [{ amount: 1, seconds: 3600 }],
    expect: 'denied',
    entries: [sluice, peer, bare],
    loads: [{ inFlight: 1, targets: [{ against: peer.label, atLeast: 8 }] }],
  },
  ...fixedCases,
  ...planCases,
]
