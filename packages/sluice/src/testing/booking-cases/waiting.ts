import assert from 'node:assert/strict'
import { type BookingCase, bookStep, finishSteps, limit } from './case.ts'

/** Which calls wait, in which order, and which are refused. */
export const waiting: readonly BookingCase[] = [
  {
    name: 'refuses at arrival, without spending, what cannot be served within its wait, and says when it could',
    async check(bench) {
      const upstream = await bench.upstream()
      await upstream.ask('a', ...['1', '2', '3', '4'].map((id) => bookStep(id)))
      const { results, depth } = await upstream.ask('a', bookStep('5', { maxWaitMs: 900 }))
      assert.deepEqual([results[0]!.is, depth], ['too-long', 2])
      assert.ok('earliestMs' in results[0]! && results[0].earliestMs >= 1000 && results[0].ahead === 2)
    },
  },
  {
    name: 'refuses beyond the length of the queue, in total and by tenant',
    async check(bench) {
      const upstream = await bench.upstream({ maxQueue: 3, maxQueuePerTenant: 2 })
      const of = (tenant: string, ...ids: string[]) => ids.map((id) => bookStep(id, { tenant }))
      await upstream.ask('a', ...of('x', '1', '2'))
      const steps = [...of('x', '3', '4', '5'), ...of('y', '6', '7')]
      assert.deepEqual(await upstream.results('a', ...steps), ['queued', 'queued', 'full', 'queued', 'full'])
    },
  },
  {
    name: 'serves tenants in turn by their weights, also when one is on every process',
    async check(bench) {
      const upstream = await bench.upstream({ limits: [{ key: limit, amount: 1, periodMs: 1000 }] })
      await upstream.ask('a', bookStep('first', { tenant: 'other' }))
      const noisy = (owner: string) =>
        Array.from({ length: 6 }, (_, i) => bookStep(`${owner}${i}`, { tenant: 'noisy' }))
      await upstream.ask('a', ...noisy('a'))
      await upstream.ask('b', ...noisy('b'))
      await upstream.ask('b', ...Array.from({ length: 3 }, (_, i) => bookStep(`quiet${i}`, { tenant: 'quiet' })))
      const served: string[] = []
      let last = { owner: 'a', id: 'first' }
      while (served.length < 6) {
        const freed = await upstream.ask(last.owner, ...finishSteps(last.id), { op: 'free', limit, tick: last.id })
        const other = last.owner === 'a' ? 'b' : 'a'
        const [own] = freed.held
        last = own ? { owner: last.owner, id: own } : { owner: other, id: (await upstream.ask(other)).held[0]! }
        served.push(last.id)
      }
      const quiet = served.filter((id) => id.startsWith('quiet')).length
      assert.equal(quiet, 3, `of ${served.join(', ')}`)
    },
  },
  {
    name: 'orders by arrival less priority, so that priority never starves anybody',
    async check(bench) {
      const upstream = await bench.upstream({ limits: [{ key: limit, amount: 1, periodMs: 1000 }] })
      await upstream.ask('a', bookStep('held'))
      await upstream.ask('a', bookStep('old', { waitedMs: 5000 }), bookStep('plain'))
      await upstream.ask('a', bookStep('urgent', { priorityMs: 2000 }))
      const order: string[] = []
      for (let last = 'held'; order.length < 3; last = order.at(-1)!)
        order.push(...(await upstream.ask('a', { op: 'cancel', id: last })).held)
      assert.deepEqual(order, ['old', 'urgent', 'plain'])
    },
  },
  {
    name: 'pauses the whole upstream or one scope, and calls in flight before it do not lengthen it',
    async check(bench) {
      const upstream = await bench.upstream()
      const pause = { op: 'pause', scope: '', ms: 800, sentAgoMs: 0, chance: 0.5, maxMs: 60_000 } as const
      await upstream.ask('a', { ...pause, scope: 'route' }, bookStep('1', { scope: 'route' }))
      const scoped = await upstream.ask('a', bookStep('2', { scope: 'route' }), bookStep('3'))
      assert.deepEqual(
        scoped.results.map(({ is }) => is),
        ['paused', 'held'],
      )
      const { pausedMs } = await upstream.ask('a', pause)
      assert.ok(pausedMs > 0 && pausedMs <= 800)
      const late = await upstream.ask(
        'a',
        { ...pause, ms: 900, sentAgoMs: 5000 },
        { ...pause, ms: -1, sentAgoMs: 5000 },
        bookStep('4'),
      )
      assert.ok(late.pausedMs <= 800, `${late.pausedMs}`)
      assert.deepEqual([late.results[2]!.is, late.held], ['queued', []])
      await bench.elapse(850)
      assert.equal((await upstream.ask('a', { op: 'cancel', id: '3' })).pausedMs, 0)
    },
  },
  {
    name: 'lets the fleet retry only what its calls have paid for, and a floor',
    async check(bench) {
      const upstream = await bench.upstream({ retryPerSecond: 0, retryPerCall: 500 })
      await upstream.ask('a', bookStep('1'), bookStep('2', { first: false }), bookStep('3'))
      const results = await upstream.results('b', { op: 'retry' }, { op: 'retry' })
      assert.deepEqual(results, ['ok', 'no'])
    },
  },
  {
    name: 'gives spaced instants, the same ones for the same ids, and those that are returned again',
    async check(bench) {
      const upstream = await bench.upstream({ limits: [{ key: limit, amount: 4, periodMs: 1000 }] })
      const units = { [limit]: 1 }
      const ask = (...ids: string[]) => ({ op: 'instants', ids, units, maxWaitsMs: ids.map(() => 60_000) }) as const
      const read = async (owner: string, ...ids: string[]): Promise<readonly number[]> => {
        const [result] = (await upstream.ask(owner, ask(...ids))).results
        return result?.is === 'instants' ? result.at : []
      }
      const first = await read('a', '1', '2', '3')
      assert.equal(first.length, 3)
      assert.deepEqual([first[1]! - first[0]!, first[2]! - first[1]!], [250_000, 250_000])
      assert.deepEqual(await read('a', '1', '2', '3'), first)
      await upstream.ask('a', { op: 'return', atUs: first[2]!, units })
      assert.deepEqual(await read('b', '9'), [first[2]])
    },
  },
]
