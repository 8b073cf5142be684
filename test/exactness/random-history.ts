import fc from 'fast-check'
import type { Ask } from '../../packages/sluice/src/core/engine/ask.ts'
import type { BlockSpec, LimitSpec } from '../../packages/sluice/src/policy/document/document.ts'

export interface Step {
  readonly kind: Ask['kind']
  readonly subjects: readonly string[]
  readonly version: number
  readonly costs: readonly number[]
  readonly copies: number
  readonly id: string
  readonly hold: 'reserve' | 'acquire' | 'receipt' | 'pending' | 'places' | undefined
  /** Whether each subject of the step is charged under another version. */
  readonly mixed: boolean
  readonly ttlUs: number
  readonly agoUs: number
}
export interface Tick {
  readonly jumpUs: number
  readonly steps: readonly Step[]
}
/** What is asked, when, under which versions of a policy. */
export interface History {
  /** Whether the clock only goes forward. */
  readonly steady: boolean
  readonly versions: readonly (readonly LimitSpec[])[]
  /** By version, if it blocks. */
  readonly blocks: readonly (BlockSpec | null)[]
  readonly ticks: readonly Tick[]
  /** Whether classes share the limit. */
  readonly shared?: boolean
}

const amount = fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 0, max: 12 }) }, fc.constantFrom(1001, 2500))
const notAllZero = (weights: number[]): number[] => [1, ...weights.slice(1)]
const per = fc.constantFrom('1s', '1m', '1h', '1d', '700ms', '3s', '1ms', '61m')
const pace = fc.record(
  {
    curve: fc.oneof(
      fc.constant('even' as const),
      fc.array(fc.nat(5), { minLength: 24, maxLength: 24 }).map(notAllZero),
    ),
    burst: fc.integer({ min: 1, max: 2000 }),
    catchUp: fc.constantFrom(1, 1.5, 3, 100),
  },
  { requiredKeys: [] },
)
const limit: fc.Arbitrary<LimitSpec> = fc.oneof(
  fc.record({ amount, per, algorithm: fc.constant('fixed-window' as const) }),
  fc.record({ amount, per, algorithm: fc.constant('fixed-window' as const), align: fc.constant('clock' as const) }),
  fc.record({ amount, per, algorithm: fc.constant('sliding-window' as const) }),
  fc.record({ amount, per, algorithm: fc.constant('sliding-log' as const) }),
  fc.record({
    amount: fc.integer({ min: 1, max: 50 }),
    burst: fc.integer({ min: 1, max: 12 }),
    per: fc.constantFrom('1s', '3s'),
    algorithm: fc.constant('gcra' as const),
  }),
  fc.record({
    amount,
    per: fc.constantFrom('day' as const, 'week' as const, 'month' as const),
    algorithm: fc.constant('calendar' as const),
    zone: fc.constantFrom('UTC', 'Europe/Berlin'),
  }),
  fc.record({
    amount: fc.oneof(amount, fc.constantFrom(100_000, 5e12)),
    per: fc.constantFrom('day' as const, 'week' as const, 'month' as const),
    zone: fc.constantFrom('UTC', 'Europe/Berlin'),
    pace,
  }),
  fc.record({ amount: fc.integer({ min: 0, max: 6 }), algorithm: fc.constant('concurrency' as const) }),
)
const named = (limits: readonly LimitSpec[]): LimitSpec[] => limits.map((one, i) => ({ ...one, name: `l${i}` }))
/** A paced limit with another amount, which is often a hundredth or a hundred times, and another pace. */
function changedPace(one: LimitSpec): fc.Arbitrary<LimitSpec> {
  if (one.pace === undefined) return fc.constant(one)
  const factor = fc.constantFrom(1, 1, 0.01, 0.5, 3, 100)
  return fc.tuple(factor, fc.option(pace)).map(([times, other]) => ({
    ...one,
    amount: Math.min(5e12, Math.ceil((one.amount ?? 0) * times)),
    pace: other === null ? one.pace! : { ...one.pace, ...other },
  }))
}
// Policies change by little: limits come from one pool, in other orders and amounts, and paced ones at other paces.
const versions = fc.array(limit, { minLength: 1, maxLength: 6 }).chain((pool) =>
  fc.array(
    fc
      .shuffledSubarray(pool, { minLength: 1, maxLength: Math.min(4, pool.length) })
      .chain((some) => fc.tuple(...some.map(changedPace)))
      .chain((some) =>
        fc
          .array(fc.constantFrom(1, 1, 1, 2), { minLength: some.length, maxLength: some.length })
          .map((factors) => named(some.map((one, i) => ({ ...one, amount: (one.amount ?? 0) * factors[i]! })))),
      ),
    { minLength: 1, maxLength: 4 },
  ),
)
const block: fc.Arbitrary<BlockSpec> = fc.record({
  after: fc.integer({ min: 1, max: 4 }),
  within: fc.constantFrom('300ms', '2s', '1m'),
  for: fc.constantFrom('1ms', '700ms', '3s', '1h'),
  grow: fc.constantFrom(1, 1.5, 2),
  count: fc.constantFrom('denials' as const, 'charges' as const),
})
const blocks = fc.array(fc.option(block), { maxLength: 4 })
const kinds = [
  'take',
  'take',
  'take',
  'take',
  'take',
  'take',
  'peek',
  'settle',
  'resize',
  'extend',
  'refund',
  'reset',
  'debit',
  'raise',
  'block',
] as const
const cost = fc.oneof(
  { weight: 6, arbitrary: fc.constant(1) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 5 }) },
  fc.constantFrom(600, 1300),
)
const us = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 999 }) },
  { weight: 4, arbitrary: fc.integer({ min: 1000, max: 400_000 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 4000 }).map((ms) => ms * 1000) },
  fc.constantFrom(61_000_000, 3_600_000_000, 86_400_000_000, 2_700_000_000_000),
)
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  subjects: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(['a'], ['a'], ['b']) },
    fc.shuffledSubarray(['a', 'b', 'c'], { minLength: 2 }),
  ),
  // Tiers and policy versions alternate on a subject, or one of them stays for a while.
  version: fc.oneof(fc.constant(0), fc.nat(3)),
  costs: fc.tuple(cost, cost, cost, cost),
  copies: fc.constantFrom(1, 1, 1, 2, 5),
  id: fc.constantFrom('h1', 'h2', 'h3'),
  hold: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    'reserve',
    'reserve',
    'acquire',
    'receipt',
    'pending',
    'places',
  ),
  mixed: fc.boolean(),
  ttlUs: us.map((ttl) => ttl + 1),
  agoUs: us,
})
const tick: fc.Arbitrary<Tick> = fc.record({ jumpUs: us, steps: fc.array(step, { minLength: 1, maxLength: 6 }) })
const ticks = fc.array(tick, { minLength: 1, maxLength: 12 })
/** Histories in which time goes forward, in small or large steps. */
export const history: fc.Arbitrary<History> = fc.record({ versions, blocks, ticks, steady: fc.constant(true) })
const back = fc.tuple(tick, fc.boolean()).map(([one, isBack]) => (isBack ? { ...one, jumpUs: -one.jumpUs } : one))
/** Histories in which the clock is sometimes set back; without calendars, whose periods the client has to send. */
export const unsteady: fc.Arbitrary<History> = fc.record({
  versions: versions.filter((all) =>
    all.flat().every(({ algorithm, pace }) => algorithm !== 'calendar' && pace === undefined),
  ),
  blocks,
  ticks: fc.array(back, { minLength: 1, maxLength: 12 }),
  steady: fc.constant(false),
})
