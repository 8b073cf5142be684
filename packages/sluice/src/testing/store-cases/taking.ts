import assert from 'node:assert/strict'
import { encodeKey } from '../../core/key.ts'
import { costing, type Limits, only, type StoreCase } from './case.ts'

const perHour = (amount: number): Limits => [{ amount, per: '1h' }]

/** One limit of five by each algorithm. */
const fives: Readonly<Record<string, Limits>> = {
  'fixed-window': [{ amount: 5, per: '1h', algorithm: 'fixed-window' }],
  'fixed-window on the clock': [{ amount: 5, per: '400d', algorithm: 'fixed-window', align: 'clock' }],
  'sliding-window': [{ amount: 5, per: '400d', algorithm: 'sliding-window' }],
  'sliding-log': [{ amount: 5, per: '1h', algorithm: 'sliding-log' }],
  gcra: [{ amount: 5, per: '10h', algorithm: 'gcra' }],
  calendar: [{ amount: 5, per: 'month', algorithm: 'calendar', zone: 'Europe/Berlin' }],
}

const hostileKeys = [
  ...[
    ['a:b', 'c'],
    ['a', 'b:c'],
    ['a_b', 'c'],
    ['a', 'b_c'],
    ['a|b', 'c'],
    ['a', 'b|c'],
    ['a.b', 'c'],
    ['a', 'b.c'],
  ],
  ...[['a/b'], ['a', 'b'], ['a', '', 'b'], [''], ['', ''], ['{a}'], ['{a}b'], ['{', '}'], ['\0'], ['\r\n'], ['\ud800']],
  ...[[1], ['1'], [true], ['true'], ['#1'], ['~1'], ['%0023'], ['__proto__'], ['constructor'], ['x'.repeat(1000)]],
]

export const taking: readonly StoreCase[] = [
  ...Object.entries(fives).map(
    ([name, limits]): StoreCase => ({
      name: `admits exactly the amount by ${name}, tells what is left, and when more will pass`,
      async check(bench) {
        const charge = bench.charge(limits)
        for (let left = 4; left >= 0; left--) {
          const answer = await bench.take(charge)
          assert.deepEqual([answer.allowed, answer.granted, only(answer).remaining], [true, 1, left])
          assert.equal(only(answer).retryAfterMs, 0)
        }
        const denied = await bench.take(charge)
        assert.deepEqual([denied.allowed, denied.granted, only(denied).remaining], [false, 0, 0])
        assert.equal(only(denied).amount, 5)
        assert.ok(only(denied).retryAfterMs > 0 && Number.isFinite(only(denied).retryAfterMs))
        assert.ok(only(denied).resetMs >= only(denied).retryAfterMs)
      },
    }),
  ),
  {
    name: 'denials spend nothing',
    async check(bench) {
      const charge = bench.charge(perHour(5))
      await bench.use(charge, 3)
      for (let i = 0; i < 5; i++) assert.equal((await bench.take(costing(charge, 3))).allowed, false)
      assert.equal((await bench.take(costing(charge, 2))).allowed, true)
      assert.deepEqual(await bench.left(charge), [0])
    },
  },
  {
    name: 'a cost of 0 always passes and spends nothing',
    async check(bench) {
      const charge = bench.charge(perHour(1))
      assert.equal((await bench.take(costing(charge, 0))).allowed, true)
      assert.deepEqual(await bench.left(charge), [1])
      await bench.use(charge, 1)
      assert.equal((await bench.take(costing(charge, 0))).allowed, true)
    },
  },
  {
    name: 'says that a cost above the amount can never pass',
    async check(bench) {
      for (const limits of Object.values(fives)) {
        const charge = bench.charge(limits)
        const answer = await bench.take(costing(charge, 6))
        assert.deepEqual([answer.allowed, only(answer).retryAfterMs, only(answer).remaining], [false, Infinity, 5])
        assert.equal((await bench.take(costing(charge, 5))).allowed, true)
      }
    },
  },
  {
    name: 'an amount of 0 denies for ever',
    async check(bench) {
      const answer = await bench.take(bench.charge(perHour(0)))
      assert.deepEqual([answer.allowed, only(answer).retryAfterMs], [false, Infinity])
    },
  },
  {
    name: 'keeps the largest amounts exact',
    async check(bench) {
      const charge = bench.charge(perHour(1e13))
      assert.equal(only(await bench.take(costing(charge, 1e13 - 1))).remaining, 1)
      assert.equal((await bench.take(costing(charge, 2))).allowed, false)
      assert.equal(only(await bench.take(charge)).remaining, 0)
    },
  },
  {
    name: 'tests all limits of a subject before it spends any',
    async check(bench) {
      const charge = bench.charge({ rpm: 2, rph: 10, rpd: 100 })
      await bench.use(charge, 2)
      const denied = await bench.take(charge)
      assert.equal(denied.allowed, false)
      assert.deepEqual(
        denied.statuses[0]!.map(({ name, amount, remaining }) => [name, amount, remaining]),
        [
          ['rpm', 2, 0],
          ['rph', 10, 8],
          ['rpd', 100, 98],
        ],
      )
      assert.deepEqual(
        denied.statuses[0]!.map(({ retryAfterMs }) => retryAfterMs > 0),
        [true, false, false],
      )
    },
  },
  {
    name: 'spends on all subjects of a decision or on none',
    async check(bench) {
      const roomy = Array.from({ length: 4 }, () => bench.charge(perHour(10), { cost: 2 }))
      const tight = bench.charge(perHour(1), { rule: 'tight' })
      const all = [...roomy.slice(0, 2), tight, ...roomy.slice(2)]
      const passed = await bench.take(all)
      assert.equal(passed.allowed, true)
      assert.deepEqual(
        passed.statuses.map(([status]) => status!.remaining),
        [8, 8, 0, 8, 8],
      )
      const denied = await bench.take(all)
      assert.deepEqual([denied.allowed, denied.granted], [false, 0])
      assert.ok(denied.statuses[2]![0]!.retryAfterMs > 0)
      for (const charge of roomy) assert.deepEqual(await bench.left(charge), [8])
      assert.deepEqual(await bench.left(tight), [0])
    },
  },
  {
    name: 'takes as many copies as fit, and says how many',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 3 })
      const answer = await bench.take(charge, { copies: 5 })
      assert.deepEqual([answer.allowed, answer.granted, only(answer).remaining], [false, 3, 1])
      const more = await bench.take(costing(charge, 1), { copies: 1 })
      assert.deepEqual([more.allowed, more.granted], [true, 1])
      assert.equal((await bench.take(charge, { copies: 7 })).granted, 0)
    },
  },
  {
    name: 'answers what is asked at once in the order of asking, exactly',
    async check(bench) {
      const charge = bench.charge(perHour(37))
      const costs = Array.from({ length: 60 }, (_, i) => (i % 4) + (i % 3 === 0 ? 1 : 0))
      const answers = await Promise.all(costs.map((cost) => bench.take(costing(charge, cost))))
      let left = 37
      for (const [i, answer] of answers.entries()) {
        const fits = costs[i]! <= left
        if (fits) left -= costs[i]!
        assert.deepEqual([answer.allowed, only(answer).remaining], [fits, left], `ask ${i} of cost ${costs[i]}`)
      }
    },
  },
  {
    name: 'never admits more than the amount to many at once',
    async check(bench) {
      const charges = Array.from({ length: 20 }, () => bench.charge(perHour(7)))
      const asks = Array.from({ length: 400 }, (_, i) => bench.take(charges[i % 20]!))
      const admitted = (await Promise.all(asks)).filter((answer) => answer.allowed).length
      assert.equal(admitted, 140)
    },
  },
  {
    name: 'peeks at what a take would say, without spending',
    async check(bench) {
      const charge = bench.charge(perHour(3), { cost: 2 })
      const first = await bench.peek(charge)
      assert.deepEqual([first.allowed, only(first).remaining, only(first).retryAfterMs], [true, 3, 0])
      assert.deepEqual(first.holds, [[]])
      await bench.use(charge, 1)
      const second = await bench.peek(charge)
      assert.deepEqual([second.allowed, only(second).remaining], [false, 1])
      assert.ok(only(second).retryAfterMs > 0)
      assert.equal(only(await bench.peek(costing(charge, 9))).retryAfterMs, Infinity)
    },
  },
  {
    name: 'gives back what is refunded, and no more than was spent',
    async check(bench) {
      for (const limits of Object.values(fives)) {
        const charge = bench.charge(limits)
        await bench.use(charge, 4)
        assert.equal((await bench.refund(costing(charge, 2))).allowed, true)
        assert.deepEqual(await bench.left(charge), [3])
        await bench.refund(costing(charge, 100))
        assert.deepEqual(await bench.left(charge), [5])
        assert.equal((await bench.refund(bench.charge(limits))).allowed, true)
      }
    },
  },
  {
    name: 'a refund that names a later time than now gives back no more than its units',
    async check(bench) {
      for (const limits of Object.values(fives)) {
        const charge = bench.charge(limits)
        const { nowUs } = await bench.take(costing(charge, 5))
        await bench.refund(charge, nowUs + 3_600_000_000)
        assert.deepEqual(await bench.left(charge), [1])
      }
    },
  },
  {
    name: 'forgets a subject that is reset, and no other',
    async check(bench) {
      const [one, two] = [bench.charge(perHour(2)), bench.charge(perHour(2))]
      await bench.use(one, 2)
      await bench.use(two, 2)
      assert.equal((await bench.reset(one)).allowed, true)
      assert.deepEqual([await bench.left(one), await bench.left(two)], [[2], [0]])
      await bench.use(one, 2)
      assert.equal((await bench.reset([one, two])).allowed, true)
      assert.deepEqual([await bench.left(one), await bench.left(two)], [[2], [2]])
    },
  },
  {
    name: 'spends what was used elsewhere, whether it fits or not',
    async check(bench) {
      const charge = bench.charge({ rpm: 5, rph: 100 })
      assert.equal((await bench.debit(charge, [9, 1])).allowed, true)
      assert.deepEqual(await bench.left(charge), [0, 99])
    },
  },
  {
    name: 'distinct subjects never meet, nor do the same ones of two rules',
    async check(bench) {
      const encoded = hostileKeys.map((key) => encodeKey(key))
      const charges = encoded.flatMap((subject) => [
        bench.charge(perHour(1), { subject, rule: 'hostile' }),
        bench.charge(perHour(1), { subject, rule: 'hostile2' }),
      ])
      for (const charge of charges) assert.equal((await bench.take(charge)).allowed, true, charge.subject)
      for (const charge of charges) assert.equal((await bench.take(charge)).allowed, false, charge.subject)
    },
  },
]
