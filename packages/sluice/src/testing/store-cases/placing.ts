import assert from 'node:assert/strict'
import { costing, type Limits, only, type StoreCase } from './case.ts'

const perHour = (amount: number): Limits => [{ amount, per: '1h' }]
const atOnce = (amount: number): Limits => [{ amount, algorithm: 'concurrency' }]

/** Holds of limits by concurrency. */
export const placing: readonly StoreCase[] = [
  {
    name: 'never has more in flight than a concurrency limit says',
    async check(bench) {
      const charge = bench.charge(atOnce(3))
      const holds = Array.from({ length: 8 }, () => bench.hold('acquire'))
      const answers = await Promise.all(holds.map((hold) => bench.take(charge, { hold })))
      assert.deepEqual(
        answers.map((answer) => answer.allowed),
        [true, true, true, false, false, false, false, false],
      )
      const { retryAfterMs } = only(answers.at(-1)!)
      assert.ok(retryAfterMs > 0 && retryAfterMs <= 60_000)
      assert.equal((await bench.settle(charge, holds[1]!.id)).granted, 1)
      assert.equal((await bench.take(charge, { hold: holds[5]! })).allowed, true)
      assert.equal((await bench.take(charge, { hold: holds[6]! })).allowed, false)
    },
  },
  {
    name: 'without a hold, a concurrency limit must have a free place but none is occupied',
    async check(bench) {
      const charge = bench.charge([...(atOnce(1) as []), { amount: 10, per: '1h', name: 'hourly' }])
      const taken = await Promise.all([1, 2, 3].map(() => bench.take(charge)))
      assert.deepEqual(
        taken.map(({ allowed }) => allowed),
        [true, true, true],
      )
      assert.equal((await bench.take(charge, { copies: 2 })).granted, 2)
      assert.deepEqual(await bench.left(charge), [1, 5])
      const hold = bench.hold('acquire')
      assert.equal((await bench.take(charge, { hold })).allowed, true)
      assert.equal((await bench.take(charge)).allowed, false)
      assert.deepEqual(await bench.left(charge), [0, 4])
      await bench.settle(charge, hold.id)
      assert.equal((await bench.take(charge)).allowed, true)
    },
  },
  {
    name: 'asked twice to hold places only, with the same id, spends the rest once',
    async check(bench) {
      const busy = bench.charge(atOnce(1), { rule: 'busy' })
      const spent = bench.charge(perHour(2), { rule: 'spent' })
      const hold = bench.places()
      for (let i = 0; i < 2; i++) assert.equal((await bench.take([busy, spent], { hold })).allowed, true)
      assert.deepEqual(await bench.left(spent), [1])
      await bench.use(spent, 1)
      assert.equal((await bench.take([busy, spent], { hold })).allowed, true, 'asked again when nothing is left')
      assert.deepEqual(await bench.left(spent), [0])
    },
  },
  {
    name: 'the same hold of several subjects, refused more, stays as it was on all of them',
    async check(bench) {
      const wide = [bench.charge(perHour(100), { cost: 4 }), bench.charge(perHour(100), { cost: 4 })]
      const tight = bench.charge(perHour(6), { cost: 4, rule: 'tight' })
      for (const kind of ['reserve', 'acquire'] as const) {
        const charges = [wide[0]!, tight, wide[1]!]
        const hold = bench.hold(kind)
        assert.equal((await bench.take(charges, { hold })).allowed, true)
        const more = charges.map((charge) => costing(charge, 7))
        assert.equal((await bench.take(more, { hold })).allowed, false)
        assert.deepEqual(
          (await bench.peek(charges)).holds!.map((holds) => holds.map(({ id, cost }) => [id, cost])),
          [[[hold.id, 4]], [[hold.id, 4]], [[hold.id, 4]]],
        )
        for (const [charge, left] of [
          [wide[0]!, 96],
          [tight, 2],
          [wide[1]!, 96],
        ] as const)
          assert.deepEqual(await bench.left(charge), [left])
        assert.equal(
          (
            await bench.settle(
              charges.map((charge) => costing(charge, 0)),
              hold.id,
            )
          ).granted,
          3,
        )
      }
    },
  },
  {
    name: 'asked to hold places only, holds them and spends the rest for good, all or nothing',
    async check(bench) {
      const busy = bench.charge(atOnce(1), { rule: 'busy' })
      const spent = bench.charge(perHour(2), { rule: 'spent' })
      const hold = bench.places()
      assert.equal((await bench.take([busy, spent], { hold })).allowed, true)
      const seen = await bench.peek([busy, spent])
      assert.deepEqual(
        seen.holds!.map((holds) => holds.map(({ id, kind }) => [id, kind])),
        [[[hold.id, 'acquire']], []],
      )
      assert.deepEqual(await bench.left(spent), [1])
      assert.equal((await bench.take([busy, spent], { hold: bench.places() })).allowed, false)
      assert.deepEqual(await bench.left(spent), [1])
      assert.equal((await bench.settle([busy], hold.id)).granted, 1)
      assert.equal((await bench.take([busy, spent], { hold: bench.places() })).allowed, true)
      assert.deepEqual(await bench.left(spent), [0])
      assert.equal((await bench.take(spent, { hold: bench.places() })).allowed, false)
    },
  },
  {
    name: 'counts places and units of one subject together',
    async check(bench) {
      const charge = bench.charge([...(atOnce(2) as []), { amount: 3, per: '1h', name: 'hourly' }])
      const holds = [1, 2, 3, 4].map(() => bench.hold('acquire'))
      for (const hold of holds.slice(0, 3)) {
        assert.equal((await bench.take(charge, { hold })).allowed, true)
        assert.equal((await bench.settle(charge, hold.id)).granted, 1)
      }
      const denied = await bench.take(charge, { hold: holds[3]! })
      assert.equal(denied.allowed, false)
      assert.deepEqual(
        denied.statuses[0]!.map(({ remaining }) => remaining),
        [2, 0],
      )
    },
  },
]
