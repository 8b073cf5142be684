import assert from 'node:assert/strict'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import type { StoreCase } from './case.ts'

const withinMs = 10_000
const take = (charge: Charge): Ask => ({ kind: 'take', charges: [charge], copies: 1, hold: undefined })

/** What a store declares that it can do, it does. */
export const declaring: readonly StoreCase[] = [
  {
    name: 'declares the abilities that it is said to have, and no others',
    async check(bench) {
      const declared = Object.entries(bench.store.abilities ?? {}).filter(([, ability]) => ability !== undefined)
      assert.deepEqual(declared.map(([name]) => name).sort(), [...bench.abilities].sort())
    },
  },
  {
    name: 'in process: decides at once, without a promise',
    async check(bench) {
      bench.ability('inProcess')
      const answer = bench.store.decide(take(bench.charge([{ amount: 5, per: '1h' }])), withinMs)
      assert.ok(!(answer instanceof Promise))
      assert.equal(answer.allowed, true)
    },
  },
  {
    name: 'submit: answers exactly once, and as decide does',
    async check(bench) {
      const submit = bench.ability('submit')
      const charge = bench.charge([{ amount: 2, per: '1h' }])
      const outcomes: boolean[] = []
      for (let i = 0; i < 4; i++) {
        let calls = 0
        const answer = await new Promise<Answer>((resolve, reject) => {
          const callback = {
            answered: (settled: Answer) => {
              calls++
              resolve(settled)
            },
            failed: reject,
          }
          const atOnce = submit(take(charge), withinMs, callback)
          if (atOnce !== undefined) resolve(atOnce)
          assert.equal(calls, 0, 'the callback is called after submit has returned')
        })
        assert.ok(calls <= 1)
        outcomes.push(answer.allowed)
      }
      assert.deepEqual(outcomes, [true, true, false, false])
    },
  },
  {
    name: 'continuity: a subject stays in its place, which has been intact since before it was counted',
    async check(bench) {
      const { placeOf, connection, intactSinceUs } = bench.ability('continuity')
      const charge = bench.charge([{ amount: 5, per: '1h' }])
      await bench.use(charge, 1)
      const place = placeOf(charge)
      const sinceUs = await intactSinceUs(place, withinMs)
      assert.ok(Number.isFinite(sinceUs))
      await bench.use(charge, 1)
      assert.equal(placeOf(charge), place)
      assert.equal(await intactSinceUs(place, withinMs), sinceUs, 'nothing was lost in between')
      assert.equal(connection(), connection())
    },
  },
]
