import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { RecountPeriod } from '../stores/recount/recount.ts'
import { failingStore } from '../testing/faulty-store.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const clock = virtualClock()
const day = { amount: 5, per: 'day', zone: 'Europe/Berlin' }
/** The first day of 2026 in Berlin, at whose start the clock in UTC is at 23:00. */
const period = { start: new Date('2025-12-31T23:00:00Z'), end: new Date('2026-01-01T23:00:00Z') }

it.each([
  ['a calendar limit', day, [period]],
  ['one with a pace', { ...day, pace: {} }, [period, period]],
  [
    'one among others',
    [day, { amount: 9, per: '1m' }, { amount: 3, algorithm: 'concurrency' as const }],
    [period, undefined, undefined],
  ],
  ['no calendar limit', { rpm: 5 }, [undefined]],
])('a decision has the period of %s', async (_, limits, expected) => {
  const policy = { service: 's', rules: [{ name: 'r', limits }] }
  const limiter = await createLimiter({ policy, store: memoryStore({ clock }), clock })
  for (const decision of [await limiter.take('k'), await limiter.peek('k')])
    expect(decision.limits.map((limit) => limit.period)).toEqual(expected)
  const { limits: inspected } = await limiter.inspect('k')
  expect(inspected.map((limit) => limit.period)).toEqual(expected)
})

it('recount receives the same', async () => {
  const seen: RecountPeriod[] = []
  const rules = [{ name: 'r', limits: day, onStoreFailure: 'recount' as const }]
  const limiter = await createLimiter({
    policy: { service: 's', rules },
    store: failingStore(memoryStore({ clock })),
    clock,
    recount: {
      r: (_key, asked) => {
        seen.push(asked)
        return 1
      },
    },
  })
  const { limits, by } = await limiter.take('k')
  expect([by, limits[0]!.period]).toEqual(['recount', period])
  expect(seen[0]).toMatchObject(period)
  await limiter.close()
})

it('is a copy in every decision: who changes a date changes no other', async () => {
  const limiter = await createLimiter({ limits: { amount: 5, per: 'day', zone: 'UTC' }, clock: virtualClock(0) })
  const { limits } = await limiter.take('a')
  limits[0]!.period!.start.setUTCFullYear(1999)
  expect((await limiter.take('a')).limits[0]!.period!.start).toEqual(new Date(0))
  await limiter.close()
})
