import assert from 'node:assert/strict'
import type { Limits, StoreCase } from './case.ts'

const hourly = (amount: number): Limits => [{ amount, per: '1h', name: 'hourly' }]
const rate = (amount: number, burst: number): Limits => [{ amount, burst, per: '10h', algorithm: 'gcra' }]
const both: Limits = [
  { amount: 10, per: '1h', name: 'hourly' },
  { amount: 50, per: '1d', name: 'daily' },
]

export const changing: readonly StoreCase[] = [
  {
    name: 'usage carries over when an amount changes, up and down',
    async check(bench) {
      const subject = bench.fresh()
      await bench.use(bench.charge(hourly(10), { subject }), 6)
      assert.deepEqual(await bench.left(bench.charge(hourly(20), { subject })), [14])
      assert.equal((await bench.take(bench.charge(hourly(4), { subject }))).allowed, false)
      assert.equal((await bench.take(bench.charge(hourly(7), { subject }))).allowed, true)
      assert.deepEqual(await bench.left(bench.charge(hourly(10), { subject })), [3])
    },
  },
  {
    name: 'a limit that is added starts unused, and those that stay carry over, in whatever order',
    async check(bench) {
      const subject = bench.fresh()
      await bench.use(bench.charge(hourly(10), { subject }), 6)
      const added = bench.charge(both, { subject })
      assert.deepEqual(await bench.left(added), [4, 50])
      await bench.use(added, 1)
      const reordered = bench.charge([...(both as [])].reverse(), { subject })
      assert.deepEqual(await bench.left(reordered), [49, 3])
      await bench.use(reordered, 1)
      assert.deepEqual(await bench.left(bench.charge([both[1 as never]!], { subject })), [48])
      assert.deepEqual(await bench.left(added), [2, 48])
    },
  },
  {
    name: 'usage stays with its own limit among many of unusual periods',
    async check(bench) {
      const subject = bench.fresh()
      const periods = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]
      const limits = periods.map((hours) => ({ amount: 100, per: `${hours}h`, name: `h${hours}` }))
      await bench.use(bench.charge(limits.slice(0, 6), { subject }), 3)
      await bench.use(bench.charge(limits, { subject }), 2)
      const reversed = bench.charge([...limits].reverse(), { subject })
      assert.deepEqual(await bench.left(reversed), [...Array(6).fill(98), ...Array(6).fill(95)])
      const odd = bench.charge(
        limits.filter((_, i) => i % 2 === 1),
        { subject },
      )
      assert.deepEqual(await bench.left(odd), [95, 95, 95, 98, 98, 98])
    },
  },
  {
    name: 'usage carries over when the rate of a gcra limit changes',
    async check(bench) {
      const subject = bench.fresh()
      await bench.use(bench.charge(rate(10, 10), { subject }), 6)
      assert.deepEqual(await bench.left(bench.charge(rate(100, 20), { subject })), [14])
      await bench.use(bench.charge(rate(100, 20), { subject }), 1)
      assert.deepEqual(await bench.left(bench.charge(rate(5, 8), { subject })), [1])
    },
  },
  {
    name: 'a log carries over',
    async check(bench) {
      const log = (amount: number): Limits => [{ amount, per: '1h', algorithm: 'sliding-log', name: 'log' }]
      const subject = bench.fresh()
      await bench.use(bench.charge(log(10), { subject }), 6)
      const more = bench.charge([...(hourly(9) as []), ...(log(5000) as [])], { subject })
      assert.deepEqual(await bench.left(more), [9, 4994])
      await bench.use(more, 2)
      assert.deepEqual(await bench.left(bench.charge(log(10), { subject })), [2])
    },
  },
  {
    name: 'holds carry over',
    async check(bench) {
      const subject = bench.fresh()
      const hold = bench.hold('reserve')
      await bench.take(bench.charge(hourly(10), { subject, cost: 5 }), { hold })
      const changed = bench.charge(both, { subject, cost: 1 })
      assert.equal((await bench.settle(changed, hold.id)).granted, 1)
      assert.equal((await bench.left(changed))[0], 9)
    },
  },
  {
    name: 'to look through other limits, or to be denied by them, changes nothing',
    async check(bench) {
      const subject = bench.fresh()
      const full = bench.charge(both, { subject })
      await bench.use(full, 4)
      const narrow = bench.charge(hourly(3), { subject })
      assert.deepEqual(await bench.left(narrow), [0])
      assert.equal((await bench.take(narrow)).allowed, false)
      assert.deepEqual(await bench.left(full), [6, 46])
      const atOnce = await Promise.all([bench.take(full), bench.peek(narrow), bench.take(narrow), bench.take(full)])
      assert.deepEqual(
        atOnce.map(({ allowed }) => allowed),
        [true, false, false, true],
      )
      assert.deepEqual(await bench.left(full), [4, 44])
    },
  },
]
