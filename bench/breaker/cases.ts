import type { Case, CaseEntry } from '../measure/case.ts'

const section = 'breaker'
const sluice: CaseEntry = { label: 'sluice', contender: 'sluice breaker' }
const cockatiel: CaseEntry = { label: 'cockatiel', contender: 'cockatiel' }
const opossum: CaseEntry = { label: 'opossum', contender: 'opossum' }
const bare: CaseEntry = { label: 'no breaker', contender: 'no breaker' }
const opened = (entry: CaseEntry): CaseEntry => ({ ...entry, setup: { isOpen: true } })
const loads = [{ inFlight: 1, targets: [{ against: cockatiel.label, atLeast: 1 }] }]

/** One caller that awaits a call which resolves at once: the cost of a breaker while closed, and while open. */
export const breakerCases: readonly Case[] = [
  {
    section,
    title: 'closed, 5 failures in a row',
    subjects: 1,
    limits: [],
    expect: 'allowed',
    entries: [sluice, cockatiel, opossum, bare],
    loads,
  },
  {
    section,
    title: 'closed, failure rate over 10 s',
    subjects: 1,
    limits: [],
    expect: 'allowed',
    entries: [sluice, cockatiel, opossum, bare].map((entry) => ({ ...entry, setup: { hasRate: true } })),
    loads,
  },
  {
    section,
    title: 'open, the fallback answers',
    subjects: 1,
    limits: [{ amount: 1, seconds: 1 }],
    expect: 'denied',
    entries: [sluice, cockatiel, opossum].map(opened),
    loads,
  },
]
