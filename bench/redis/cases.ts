import type { WindowLimit } from '../contenders/contender.ts'
import type { Case, CaseEntry } from '../measure/case.ts'

/** Windows as in a typical policy, with amounts that are never used up. */
const second: WindowLimit = { amount: 1_000_000_000, seconds: 1 }
const minute: WindowLimit = { amount: 1_000_000_000, seconds: 60 }
const hour: WindowLimit = { amount: 1_000_000_000, seconds: 3600 }
const day: WindowLimit = { amount: 1_000_000_000, seconds: 86_400 }
const four = [second, minute, hour, day]

const flexible = 'rate-limiter-flexible'
const sluice: CaseEntry = { label: 'sluice', contender: 'sluice' }
const plain: CaseEntry = { label: 'plain take', contender: 'sluice' }
const peer: CaseEntry = { label: flexible, contender: flexible }
const union: CaseEntry = { label: 'RateLimiterUnion', contender: flexible }
const block: CaseEntry = { label: 'inMemoryBlockOnConsumed', contender: flexible, setup: { denyCache: true } }

const section = 'redis'

/** The cases of the targets, in their order. */
export const redisCases: readonly Case[] = [
  {
    section,
    title: '10,000 subjects, 1 limit, allowed',
    subjects: 10_000,
    limits: [minute],
    expect: 'allowed',
    entries: [
      sluice,
      peer,
      { label: 'rate-limit-redis', contender: 'rate-limit-redis' },
      { label: '@upstash/ratelimit', contender: '@upstash/ratelimit' },
      { label: 'raw EVALSHA', contender: 'raw EVALSHA' },
    ],
    loads: [
      { inFlight: 64, targets: [{ against: flexible, atLeast: 2 }, { cpuUsAtMost: 4 }] },
      { inFlight: 512, targets: [{ against: flexible, atLeast: 3 }, { cpuUsAtMost: 4 }] },
      // Last: one at a time, a round makes too few decisions for the compiler to optimise any of the contenders.
      { inFlight: 1, targets: [{ against: flexible, atLeast: 1 }] },
    ],
  },
  {
    section,
    title: 'reported beside not reported',
    subjects: 10_000,
    limits: [minute],
    expect: 'allowed',
    entries: [sluice, { label: 'not reported', contender: 'sluice', setup: { isUnreported: true } }],
    loads: [
      { inFlight: 64, targets: [{ against: 'not reported', atLeast: 0.97 }] },
      { inFlight: 1, targets: [{ against: 'not reported', atLeast: 0.97 }] },
    ],
  },
  {
    section,
    title: '10,000 subjects, 4 limits, allowed',
    subjects: 10_000,
    limits: four,
    expect: 'allowed',
    entries: [sluice, union],
    loads: [
      { inFlight: 64, targets: [{ against: union.label, atLeast: 6 }] },
      { inFlight: 512, targets: [{ against: union.label, atLeast: 12 }] },
    ],
  },
  {
    section,
    title: 'one hot subject, exact',
    subjects: 1,
    limits: [minute],
    expect: 'allowed',
    entries: [sluice, peer],
    loads: [
      { inFlight: 64, targets: [{ against: flexible, atLeast: 4 }] },
      { inFlight: 512, targets: [{ against: flexible, atLeast: 15 }] },
    ],
  },
  {
    section,
    title: 'one hot subject, with a lease',
    subjects: 1,
    limits: [minute],
    expect: 'allowed',
    entries: [{ label: 'sluice with a lease', contender: 'sluice', setup: { lease: true } }, peer],
    loads: [{ inFlight: 512, targets: [{ against: flexible, atLeast: 30 }] }],
  },
  ...(['cap', 'paced'] as const).map(
    (daily): Case => ({
      section,
      title: daily === 'cap' ? 'a daily cap with recount beside a plain take' : 'a paced day beside a plain take',
      subjects: 10_000,
      limits: [day],
      expect: 'allowed',
      entries: [{ label: daily, contender: 'sluice', setup: { daily } }, plain],
      // At most 1.2 times the cost.
      loads: [1, 64].map((inFlight) => ({ inFlight, targets: [{ against: plain.label, atLeast: 0.83 }] })),
    }),
  ),
  {
    section,
    title: 'denied flood of 100 subjects',
    subjects: 100,
    limits: [{ amount: 1, seconds: 3600 }],
    expect: 'denied',
    entries: [sluice, block],
    loads: [{ inFlight: 64, targets: [{ against: block.label, atLeast: 5 }] }],
  },
  {
    section,
    title: '1,024 subjects, blocked beside denied, in process',
    subjects: 1024,
    limits: [{ amount: 1, seconds: 3600 }],
    expect: 'denied',
    entries: [
      { ...sluice, label: 'blocked', setup: { fixed: 'block' } },
      { label: 'blocked, in memory', contender: 'sluice in memory', setup: { fixed: 'block' } },
      { ...sluice, label: 'denied' },
    ],
    loads: [{ inFlight: 1, targets: [{ against: 'denied', atLeast: 1 }] }],
  },
]
