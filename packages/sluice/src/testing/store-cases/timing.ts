import assert from 'node:assert/strict'
import type { Answer } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { type Limits, only, type StoreCase } from './case.ts'

const quarter: Readonly<Record<string, Limits>> = {
  'fixed-window': [{ amount: 2, per: '250ms', algorithm: 'fixed-window' }],
  'fixed-window on the clock': [{ amount: 2, per: '250ms', algorithm: 'fixed-window', align: 'clock' }],
  'sliding-window': [{ amount: 2, per: '250ms', algorithm: 'sliding-window' }],
  'sliding-log': [{ amount: 2, per: '250ms', algorithm: 'sliding-log' }],
  gcra: [{ amount: 2, per: '500ms', burst: 2, algorithm: 'gcra' }],
}

const quarterOf = ({ nowUs }: Answer): number => Math.floor(nowUs / 250_000)

export const timing: readonly StoreCase[] = [
  {
    name: 'what was denied passes when it was said to, by every algorithm with a period',
    async check(bench) {
      const charges = bench.among(quarter).map((limits) => bench.charge(limits, { cost: 2 }))
      const answers = []
      for (const charge of charges) {
        let answer = await bench.take(charge)
        // Real time may end a window just before the second ask; then that one passed, and the next is denied.
        for (let i = 0; i < 20 && answer.allowed; i++) answer = await bench.take(charge)
        assert.equal(answer.allowed, false)
        answers.push(answer)
      }
      const waits = answers.map((answer) => only(answer).retryAfterMs)
      for (const wait of waits) assert.ok(wait > 0 && wait <= 500)
      await bench.elapse(Math.max(...waits))
      for (const charge of charges) assert.equal((await bench.take(charge)).allowed, true)
    },
  },
  {
    name: 'what was spent in a period that is over cannot be refunded into the next',
    async check(bench) {
      const charges = bench.among(quarter).map((limits) => bench.charge(limits, { cost: 2 }))
      const taken: number[] = []
      for (const charge of charges) taken.push((await bench.take(charge)).nowUs)
      await bench.elapse(1000)
      for (const [c, charge] of charges.entries()) {
        const second = await bench.take(charge)
        assert.equal(second.allowed, true)
        const refunded = await bench.refund(charge, taken[c]!)
        // Real time may end a window between the two asks, and then nothing is spent in the next one.
        if (quarterOf(refunded) === quarterOf(second)) assert.notEqual(only(refunded).remaining, 2)
      }
    },
  },
  {
    name: 'settles whatever the deadline, with an answer or a StoreError',
    async check(bench) {
      const charge = bench.charge([{ amount: 1000, per: '1h' }])
      const ask = { kind: 'take', charges: [charge], copies: 1, hold: undefined } as const
      for (const withinMs of [0, 0.5, 1, 5, 2 ** 31, Infinity]) {
        const settled = await Promise.resolve()
          .then(() => bench.store.decide(ask, withinMs))
          .catch((error: unknown) => error)
        assert.ok(settled instanceof StoreError || (settled as { allowed?: unknown }).allowed === true, `${settled}`)
      }
    },
  },
  {
    name: 'asks of different deadlines in one tick each keep their own',
    async check(bench) {
      const charge = bench.charge([{ amount: 1000, per: '1h' }])
      const ask = { kind: 'take', charges: [charge], copies: 1, hold: undefined } as const
      const settle = (withinMs: number): Promise<unknown> =>
        Promise.resolve()
          .then(() => bench.store.decide(ask, withinMs))
          .catch((error: unknown) => error)
      const [, patient] = await Promise.all([settle(0), settle(10_000), settle(0)])
      assert.equal((patient as { allowed?: unknown }).allowed, true, String(patient))
    },
  },
  {
    name: 'tells of its health',
    async check(bench) {
      const health = await bench.store.health(5000)
      assert.equal(health.reachable, true)
      assert.ok(health.roundTripMs >= 0)
      assert.ok(Array.isArray(health.warnings))
    },
  },
]
