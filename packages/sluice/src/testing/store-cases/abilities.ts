import assert from 'node:assert/strict'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { waitFor } from '../wait-for.ts'
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
    name: 'continuity: a subject stays in its shard, which has been intact since before it was counted',
    async check(bench) {
      const { shardOf, connection, intactSinceUs } = bench.ability('continuity')
      const charge = bench.charge([{ amount: 5, per: '1h' }])
      await bench.use(charge, 1)
      const shard = shardOf(charge)
      const sinceUs = await intactSinceUs(shard, withinMs)
      assert.ok(Number.isFinite(sinceUs))
      await bench.use(charge, 1)
      assert.equal(shardOf(charge), shard)
      assert.equal(await intactSinceUs(shard, withinMs), sinceUs, 'nothing was lost in between')
      assert.equal(connection(), connection())
    },
  },
  {
    name: 'lossMark: a subject stays in its shard, whose mark stays the same while nothing is lost',
    async check(bench) {
      const { shardOf, read } = bench.ability('lossMark')
      const charge = bench.charge([{ amount: 5, per: '1h' }])
      const mark = await read(shardOf(charge), withinMs)
      await bench.use(charge, 1)
      assert.equal(await read(shardOf(charge), withinMs), mark, 'nothing was lost in between')
    },
  },
  {
    name: 'line: tells each process what waits in the others, until they leave or their time is over',
    async check(bench) {
      const { stand } = bench.ability('line')
      const key = `line ${crypto.randomUUID()}`
      const waits = [
        { units: 2, forUs: 5_000_000 },
        { units: 7, forUs: 1_000_000 },
      ]
      assert.deepEqual(await stand(key, 'a', waits, 60_000, withinMs), [])
      const [seen] = await stand(key, 'b', [{ units: 1, forUs: 0 }], 60_000, withinMs)
      assert.deepEqual(
        seen!.map(({ units }) => units),
        [2, 7],
      )
      assert.ok(seen![0]!.forUs >= 5_000_000 && seen![1]!.forUs < seen![0]!.forUs)
      assert.equal((await stand(key, 'a', [], 60_000, withinMs)).length, 1, 'b waits still')
      assert.deepEqual(await stand(key, 'b', [], 60_000, withinMs), [])
      await stand(key, 'a', waits, 1, withinMs)
      await waitFor(async () => (await stand(key, 'b', [], 1, withinMs)).length === 0, { describe: 'the entry to end' })
    },
  },
]
