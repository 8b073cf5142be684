import assert from 'node:assert/strict'
import { costing, type Limits, only, type StoreCase } from './case.ts'

const perHour = (amount: number): Limits => [{ amount, per: '1h' }]
const logged = (amount: number): Limits => [{ amount, per: '1h', algorithm: 'sliding-log' }]
const atOnce = (amount: number): Limits => [{ amount, algorithm: 'concurrency' }]

export const holding: readonly StoreCase[] = [
  {
    name: 'a reservation spends at once, and settling returns what was not used',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 8 })
      const hold = bench.hold('reserve')
      assert.equal(only(await bench.take(charge, { hold })).remaining, 2)
      const [open] = (await bench.peek(charge)).holds!
      assert.deepEqual(
        open!.map(({ id, cost, kind }) => [id, cost, kind]),
        [[hold.id, 8, 'reserve']],
      )
      const settled = await bench.settle(costing(charge, 3), hold.id)
      assert.deepEqual([settled.allowed, settled.granted, only(settled).remaining], [true, 1, 7])
      assert.deepEqual((await bench.peek(charge)).holds, [[]])
    },
  },
  {
    name: 'settling for more than was reserved spends the rest too, also beyond the amount',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 4 })
      const hold = bench.hold('reserve')
      await bench.take(charge, { hold })
      assert.equal(only(await bench.settle(costing(charge, 15), hold.id)).remaining, 0)
      await bench.refund(costing(charge, 6))
      assert.deepEqual(await bench.left(charge), [1])
    },
  },
  {
    name: 'a hold is settled once; an unknown one not at all',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 4 })
      const hold = bench.hold('reserve')
      await bench.take(charge, { hold })
      assert.equal((await bench.settle(costing(charge, 0), hold.id)).granted, 1)
      for (const id of [hold.id, bench.fresh()]) {
        const again = await bench.settle(costing(charge, 0), id)
        assert.deepEqual([again.allowed, again.granted], [false, 0])
        assert.equal((await bench.extend(charge, id, 1000)).granted, 0)
      }
      assert.deepEqual(await bench.left(charge), [10])
    },
  },
  {
    name: 'the same hold asked for twice is taken once, also when nothing more would fit',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 8 })
      const hold = bench.hold('reserve')
      for (let i = 0; i < 3; i++) {
        const answer = await bench.take(charge, { hold })
        assert.deepEqual([answer.allowed, answer.granted], [true, 1])
      }
      const atTheSameTime = await Promise.all([1, 2, 3].map(() => bench.take(charge, { hold })))
      assert.ok(atTheSameTime.every((answer) => answer.allowed))
      assert.deepEqual(await bench.left(charge), [2])
    },
  },
  {
    name: 'the same hold asked for with a larger cost takes the difference, if that fits',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 4 })
      const hold = bench.hold('reserve')
      for (const [cost, allowed, left] of [
        [4, true, 6],
        [7, true, 3],
        [12, false, 3],
        [2, true, 3],
      ] as const) {
        assert.equal((await bench.take(costing(charge, cost), { hold })).allowed, allowed, `asked for ${cost}`)
        assert.deepEqual(await bench.left(charge), [left])
      }
      await bench.settle(costing(charge, 0), hold.id)
      assert.deepEqual(await bench.left(charge), [10])
    },
  },
  {
    name: 'what a hold took step by step comes back to where each step took it, under every algorithm',
    async check(bench) {
      const kinds = {
        'fixed-window': perHour(30),
        'sliding-window': [{ amount: 30, per: '1h', algorithm: 'sliding-window' }],
        'sliding-log': logged(30),
      } as const
      for (const limits of bench.among(kinds)) {
        const charge = bench.charge(limits)
        const hold = bench.hold('reserve')
        await bench.take(costing(charge, 2))
        for (const cost of [1, 3, 4, 6]) {
          assert.equal((await bench.take(costing(charge, cost), { hold })).allowed, true)
          await bench.elapse(2)
        }
        const [open] = (await bench.peek(charge)).holds!
        assert.deepEqual(
          open!.map(({ id, cost }) => [id, cost]),
          [[hold.id, 6]],
        )
        assert.deepEqual(await bench.left(charge), [22])
        await bench.settle(costing(charge, 0), hold.id)
        assert.deepEqual(await bench.left(charge), [28])
        assert.equal((await bench.settle(charge, hold.id)).granted, 0)
      }
    },
  },
  {
    name: 'a hold that grew in very many steps is one hold, and gives back no more than it took',
    async check(bench) {
      for (const limits of bench.among({ window: perHour(99), log: logged(99) })) {
        const charge = bench.charge(limits)
        const hold = bench.hold('reserve')
        await bench.take(costing(charge, 40))
        for (let cost = 1; cost <= 30; cost++) {
          await bench.take(costing(charge, cost), { hold })
          await bench.elapse(2)
        }
        const { holds } = await bench.peek(charge)
        assert.deepEqual([holds![0]!.length, holds![0]![0]!.cost], [1, 30])
        assert.deepEqual(await bench.left(charge), [29])
        await bench.settle(costing(charge, 0), hold.id)
        const [left] = await bench.left(charge)
        assert.ok(left! > 29 && left! <= 59, `${left} left`)
        assert.deepEqual((await bench.peek(charge)).holds, [[]])
      }
    },
  },
  {
    name: 'a hold that grew under other limits gives each limit back only what it took there',
    async check(bench) {
      const [before, after] = [2, 3].map((hours) => [{ amount: 20, per: `${hours}h` as const, name: 'limit' }])
      const charge = bench.charge(before!)
      const changed = bench.charge(after!, { subject: charge.subject })
      const hold = bench.hold('reserve')
      await bench.take(costing(charge, 10))
      await bench.take(costing(charge, 4), { hold })
      await bench.take(costing(changed, 9), { hold })
      await bench.settle(costing(changed, 0), hold.id)
      assert.deepEqual([await bench.left(charge), await bench.left(changed)], [[10], [20]])
    },
  },
  {
    name: 'a hold that only some of the subjects have is taken from the others alone',
    async check(bench) {
      const charges = Array.from({ length: 3 }, () => bench.charge(perHour(10), { cost: 6 }))
      const hold = bench.hold('reserve')
      await bench.take(charges[0]!, { hold })
      assert.equal((await bench.take(charges, { hold })).allowed, true)
      for (const charge of charges) assert.deepEqual(await bench.left(charge), [4])
      assert.equal((await bench.settle(charges, hold.id)).granted, 3)
    },
  },
  {
    name: 'an id names a hold while it is open: after it was settled or cancelled, it begins a new one',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 3 })
      const hold = bench.hold('reserve')
      for (const left of [7, 4, 1]) {
        assert.equal((await bench.take(charge, { hold })).allowed, true)
        assert.equal((await bench.settle(charge, hold.id)).granted, 1)
        assert.deepEqual(await bench.left(charge), [left])
      }
      assert.equal((await bench.take(charge, { hold })).allowed, false)
    },
  },
  {
    name: 'units taken under a receipt that nobody ends come back when it expires, those of a confirmed one do not',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 3 })
      const confirmed = bench.hold('receipt', 200)
      const { nowUs } = await bench.take(charge, { hold: confirmed })
      const settled = await bench.settle(charge, confirmed.id)
      // A slow machine may confirm too late.
      const kept = settled.nowUs < nowUs + 200_000 ? 3 : 0
      assert.equal(only(await bench.take(charge, { hold: bench.hold('receipt', 200) })).remaining, 7 - kept)
      await bench.elapse(250)
      assert.deepEqual(await bench.left(charge), [10 - kept])
    },
  },
  {
    name: 'a denied reservation leaves no hold',
    async check(bench) {
      const charge = bench.charge(perHour(10), { cost: 11 })
      assert.equal((await bench.take(charge, { hold: bench.hold('reserve') })).allowed, false)
      assert.deepEqual((await bench.peek(charge)).holds, [[]])
    },
  },
  {
    name: 'reserves on all subjects or on none, and settles on all',
    async check(bench) {
      const charges = Array.from({ length: 4 }, () => bench.charge(perHour(10), { cost: 6 }))
      const hold = bench.hold('reserve')
      assert.equal((await bench.take(charges, { hold })).allowed, true)
      assert.equal((await bench.take(charges, { hold: bench.hold('reserve') })).allowed, false)
      for (const charge of charges) assert.deepEqual(await bench.left(charge), [4])
      assert.equal((await bench.take(charges, { hold })).allowed, true)
      const settled = await bench.settle(
        charges.map((charge) => costing(charge, 1)),
        hold.id,
      )
      assert.deepEqual([settled.allowed, settled.granted], [true, 4])
      for (const charge of charges) assert.deepEqual(await bench.left(charge), [9])
      assert.deepEqual((await bench.peek(charges)).holds, [[], [], [], []])
    },
  },
  {
    name: 'a denied decision over several subjects leaves no hold on any',
    async check(bench) {
      const tight = bench.charge(perHour(1), { cost: 2, rule: 'tight' })
      const charges = [bench.charge(perHour(10)), tight, bench.charge(perHour(10))]
      for (const hold of [undefined, bench.hold('reserve'), bench.hold('acquire')]) {
        assert.equal((await bench.take(charges, hold && { hold })).allowed, false)
        const seen = await bench.peek(charges)
        assert.deepEqual(seen.holds, [[], [], []])
        assert.deepEqual(
          seen.statuses.map(([status]) => status!.remaining),
          [10, 1, 10],
        )
      }
    },
  },
  {
    name: 'what an expired reservation took comes back; an expired acquisition only frees its place',
    async check(bench) {
      const limits: Limits = [...(atOnce(1) as []), { amount: 10, per: '1h', name: 'hourly' }]
      for (const kind of ['reserve', 'acquire'] as const) {
        const charge = bench.charge(limits, { cost: 1 })
        const taken = await bench.take(charge, { hold: bench.hold(kind, 150) })
        const blocked = await bench.take(charge, { hold: bench.hold(kind, 150) })
        if (blocked.nowUs < taken.nowUs + 150_000) assert.equal(blocked.allowed, false)
        await bench.elapse(310)
        assert.deepEqual(await bench.left(charge), [1, kind === 'reserve' ? 10 : blocked.allowed ? 8 : 9])
        assert.deepEqual((await bench.peek(charge)).holds, [[]])
      }
    },
  },
  {
    name: 'a hold that is extended lives on',
    async check(bench) {
      const charge = bench.charge(atOnce(1))
      const hold = bench.hold('acquire', 5000)
      await bench.take(charge, { hold })
      assert.equal((await bench.extend(charge, hold.id, 600_000)).granted, 1)
      await bench.elapse(10)
      const { resetMs, retryAfterMs } = only(await bench.take(charge, { hold: bench.hold('acquire') }))
      assert.ok(resetMs > 500_000 && resetMs <= 600_000)
      assert.equal(retryAfterMs, 1000, 'a permit may come back at any time')
      await bench.extend(charge, hold.id, 1)
      await bench.elapse(10)
      assert.equal((await bench.take(charge, { hold: bench.hold('acquire') })).allowed, true)
    },
  },
  {
    name: 'a reset ends holds too',
    async check(bench) {
      const charge = bench.charge(atOnce(1))
      const hold = bench.hold('acquire')
      await bench.take(charge, { hold })
      await bench.reset(charge)
      assert.equal((await bench.settle(charge, hold.id)).granted, 0)
      assert.equal((await bench.take(charge, { hold: bench.hold('acquire') })).allowed, true)
    },
  },
  {
    name: 'keeps hold ids as they are, whatever is in them',
    async check(bench) {
      const charge = bench.charge(atOnce(100))
      const ids = ['a', 'A', 'é', '日本', '😀', '"', '\\', '\0', '\n', 'x'.repeat(500), '__proto__', '1', '{}']
      for (const id of ids) await bench.take(charge, { hold: bench.hold('acquire', 60_000, id) })
      assert.deepEqual(
        (await bench.peek(charge)).holds![0]!.map(({ id }) => id),
        ids,
      )
      for (const id of ids) assert.equal((await bench.settle(charge, id)).granted, 1, id)
      assert.deepEqual(await bench.left(charge), [100])
    },
  },
]
