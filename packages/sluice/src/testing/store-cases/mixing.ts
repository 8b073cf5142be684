import assert from 'node:assert/strict'
import type { Charge } from '../../core/engine/ask.ts'
import type { Limits, StoreBench, StoreCase } from './case.ts'

const hour = (amount: number, more: object = {}): Limits => [{ amount, per: '1h', name: 'hour', ...more }]

/** Sets of limits that differ in period, algorithm, alignment, zone or number, as tiers and policy versions do. */
const pairs: readonly (readonly [name: string, one: Limits, other: Limits])[] = [
  ['periods', hour(10), [{ amount: 10, per: '2h' }]],
  ['unusual periods', [{ amount: 10, per: '61m' }], [{ amount: 10, per: '400d' }]],
  ['algorithms', hour(10), hour(10, { algorithm: 'sliding-window' })],
  ['a log and a bucket', hour(10, { algorithm: 'sliding-log' }), hour(10, { algorithm: 'gcra' })],
  ['alignments', hour(10), hour(10, { align: 'clock' })],
  ['zones', [{ amount: 10, per: 'month' }], [{ amount: 10, per: 'month', zone: 'Europe/Berlin' }]],
]

export const mixing: readonly StoreCase[] = [
  ...pairs.map(([name, one, other]) => ({
    name: `limits that take turns on a subject hold one by one, together at most their sum: ${name}`,
    async check(bench: StoreBench) {
      const subject = bench.fresh()
      const first = bench.charge(one, { subject })
      const second = bench.charge(other, { subject })
      for (let i = 0; i < 15; i++) {
        assert.equal((await bench.take(first)).allowed, i < 10, `take ${i + 1} by the first`)
        assert.equal((await bench.take(second)).allowed, i < 10, `take ${i + 1} by the second`)
      }
      assert.deepEqual([await bench.left(first), await bench.left(second)], [[0], [0]])
    },
  })),
  {
    name: 'a limit holds although others write without it, and what both have is shared',
    async check(bench) {
      const subject = bench.fresh()
      const wide = bench.charge([...(hour(100) as []), { amount: 3, per: '1d', name: 'day' }], { subject })
      const narrow = bench.charge(hour(100), { subject })
      for (let i = 0; i < 5; i++) {
        assert.equal((await bench.take(wide)).allowed, i < 3)
        assert.equal((await bench.take(narrow)).allowed, true)
      }
      assert.deepEqual(await bench.left(wide), [92, 0])
    },
  },
  {
    name: 'takes of different limits that are asked at once count as they would one after the other',
    async check(bench) {
      const subject = bench.fresh()
      const sets = pairs.flatMap(([, one, other]) => [one, other]).map((limits) => bench.charge(limits, { subject }))
      for (let round = 0; round < 3; round++) {
        const answers = await Promise.all(sets.map((charge) => bench.take(charge)))
        assert.ok(answers.every(({ allowed }) => allowed))
      }
      // Three of the twelve are the same hourly limit, which counts all of its takes.
      const hourly = sets[0]!.limits.layout
      for (const charge of sets) assert.deepEqual(await bench.left(charge), [charge.limits.layout === hourly ? 1 : 7])
    },
  },
  {
    name: 'as many as 32 limits are kept for others',
    async check(bench) {
      const subject = bench.fresh()
      const sets = Array.from({ length: 33 }, (_, i) => bench.charge([{ amount: 2, per: `${i + 2}h` }], { subject }))
      for (const charge of sets) await bench.use(charge, 1)
      for (const charge of sets) assert.deepEqual(await bench.left(charge), [1])
    },
  },
  {
    name: 'of more limits than are kept, those that end first are forgotten',
    async check(bench) {
      const subject = bench.fresh()
      const sets = Array.from({ length: 40 }, (_, i) => bench.charge([{ amount: 2, per: `${i + 2}h` }], { subject }))
      for (const charge of sets) await bench.use(charge, 1)
      const left = await Promise.all(sets.map((charge) => bench.left(charge)))
      assert.deepEqual(left.flat(), [...Array(7).fill(2), ...Array(33).fill(1)])
    },
  },
  {
    name: 'what is held comes back to the limits it was taken from, whoever settles or lets it expire',
    async check(bench) {
      const subject = bench.fresh()
      const hourly = bench.charge(hour(10), { subject, cost: 4 })
      const daily = bench.charge([{ amount: 10, per: '1d' }], { subject, cost: 4 })
      const cancelled = bench.hold('reserve')
      const expiring = bench.hold('reserve')
      await bench.use(daily, 1)
      await bench.take(hourly, { hold: cancelled })
      await bench.take(hourly, { hold: expiring })
      assert.deepEqual([await bench.left(hourly), await bench.left(daily)], [[2], [6]])
      await bench.settle({ ...daily, cost: 0 }, cancelled.id)
      assert.deepEqual([await bench.left(hourly), await bench.left(daily)], [[6], [6]])
      await bench.extend(hourly, expiring.id, 1)
      await bench.elapse(10)
      await bench.take(daily)
      assert.deepEqual([await bench.left(hourly), await bench.left(daily)], [[10], [2]])
    },
  },
  {
    name: 'a class that others left nothing has its share when the window ends, and never more than the limit passes',
    async check(bench) {
      const subject = bench.fresh()
      const limits = [{ amount: 10, per: '2s' }]
      const [a, b] = (['a', 'b'] as const).map((of) => bench.charge(limits, { subject, of })) as [Charge, Charge]
      assert.equal((await bench.take(b, { copies: 12 })).granted, 10)
      const denied = await bench.take(a)
      assert.equal(denied.allowed, false)
      await bench.elapse(denied.statuses[0]![1]!.retryAfterMs)
      assert.equal((await bench.take(b, { copies: 12 })).granted, 3)
      assert.equal((await bench.take(a, { copies: 12 })).granted, 7)
      assert.deepEqual(
        [await bench.left(a), await bench.left(b)],
        [
          [0, 0],
          [0, 0],
        ],
      )
    },
  },
  {
    name: 'a reset forgets every limit of a subject',
    async check(bench) {
      const subject = bench.fresh()
      const charges = pairs.flatMap(([, one, other]) => [one, other]).map((limits) => bench.charge(limits, { subject }))
      for (const charge of charges) await bench.take(charge)
      await bench.reset(charges[0]!)
      for (const charge of charges) assert.deepEqual(await bench.left(charge), [10])
    },
  },
]
