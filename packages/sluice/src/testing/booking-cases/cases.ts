import assert from 'node:assert/strict'
import { type BookingCase, bookStep, limit } from './case.ts'

const one = { limits: [{ key: limit, amount: 1, periodMs: 1000 }] }

/** What every port of booking must do. */
export const cases: readonly BookingCase[] = [
  {
    name: 'grants while there is room, then queues, first in, first out',
    async check(upstream) {
      const reply = await upstream.ask('a', ...['1', '2', '3', '4'].map((id) => bookStep(id)))
      assert.deepEqual(
        [reply.grants.map(({ id }) => id), reply.results.map(({ is }) => is), reply.depth, reply.used],
        [['1', '2'], ['ok', 'ok', 'queued', 'queued'], 2, [2]],
      )
      const again = await upstream.ask('a', { op: 'back', grant: upstream.nameOf(reply, 1) })
      assert.deepEqual([again.grants.map(({ id }) => id), again.depth, again.used], [['3'], 1, [2]])
    },
  },
  {
    name: 'counts a call until a period after it arrived, however late that is reported',
    async check(upstream) {
      const reply = await upstream.ask('a', bookStep('1'), bookStep('2'), bookStep('3'))
      await upstream.elapse(600)
      const reports = [0, 1].map((at) => ({ grant: upstream.nameOf(reply, at), inUs: -500_000, final: true }))
      const told = await upstream.ask('a', ...reports.map((each) => ({ op: 'report', ...each }) as const))
      assert.deepEqual(told.grants, [])
      assert.ok(told.askInUs > 300_000 && told.askInUs <= 600_000, `${told.askInUs}`)
      await upstream.elapse(told.askInUs / 1000 + 10)
      assert.deepEqual(await upstream.granted('a'), ['3'])
    },
  },
  {
    name: 'counts a call that nobody reports for as long as it may be on its way, and no longer',
    rules: one,
    async check(upstream) {
      const first = await upstream.ask('a', bookStep('1'), bookStep('2'))
      // A second to write it, 25 ms on its way, its period, and what clocks may differ by.
      const endUs = first.timeUs + 1_000_000 + 25_000 + 1_002_500
      let reply = await upstream.ask('a')
      for (; reply.grants.length === 0; reply = await upstream.ask('a')) {
        assert.ok(reply.verifiedUs < endUs)
        await upstream.elapse(20)
      }
      assert.ok(reply.verifiedUs >= endUs)
      assert.deepEqual(
        reply.grants.map(({ id }) => id),
        ['2'],
      )
    },
  },
  {
    name: 'takes back what a process did not receive, and gives no turns until it has booked that again',
    rules: one,
    async check(upstream) {
      await upstream.ask('a')
      await upstream.askInVain('a', bookStep('1'), bookStep('2'))
      const told = await upstream.ask('a')
      assert.deepEqual([told.voided, told.grants, told.used, told.askInUs], [['1'], [], [0], 0])
      const reply = await upstream.ask('a', bookStep('1', { waitedMs: 1000 }))
      assert.deepEqual([reply.grants.map(({ id }) => id), reply.used, reply.depth], [['1'], [1], 1])
    },
  },
  {
    name: 'executes no exchange that is older than one of the same process',
    rules: one,
    async check(upstream) {
      await upstream.ask('a')
      const late = upstream.hold('a', bookStep('1'))
      await upstream.ask('a')
      assert.equal((await late()).known, false)
      assert.deepEqual((await upstream.ask('a')).used, [0])
    },
  },
  {
    name: 'grants only to the process that asks, and passes over one that does not ask when it is its turn',
    rules: one,
    async check(upstream) {
      const first = await upstream.ask('a', bookStep('1'))
      await upstream.ask('b', bookStep('b1'))
      await upstream.ask('a', bookStep('a1'))
      const back = { op: 'back', grant: upstream.nameOf(first) } as const
      assert.deepEqual(await upstream.granted('a', back), [])
      await upstream.elapse(40)
      assert.deepEqual(await upstream.granted('a'), ['a1'])
      await upstream.elapse(2100)
      assert.deepEqual(await upstream.granted('b'), ['b1'])
    },
  },
  {
    name: 'spends of all limits or of none, and nobody is overtaken for needing more',
    rules: {
      limits: [
        { key: limit, amount: 2, periodMs: 1000 },
        { key: 'tokens/1000', amount: 10, periodMs: 1000 },
        { key: 'in-flight', amount: 2, periodMs: 0 },
      ],
    },
    async check(upstream) {
      const units = (tokens: number) => ({ units: { tokens } })
      const reply = await upstream.ask(
        'a',
        ...[bookStep('1', units(6)), bookStep('2', units(6)), bookStep('3', units(1))],
      )
      assert.deepEqual([reply.grants.map(({ id }) => id), reply.used], [['1'], [1, 6, 1]])
      const report = { op: 'report', grant: upstream.nameOf(reply), inUs: 0, final: true } as const
      const settled = await upstream.ask('a', { ...report, units: { tokens: 2 } })
      assert.deepEqual([settled.grants.map(({ id }) => id), settled.used], [['2'], [2, 8, 2]])
    },
  },
  {
    name: 'refuses at arrival, without spending, what cannot be served within its wait, and says when it could',
    async check(upstream) {
      const reply = await upstream.ask('a', bookStep('1'), bookStep('2'))
      const reports = [0, 1].map((at) => ({ grant: upstream.nameOf(reply, at), inUs: 0, final: true }))
      await upstream.ask('a', ...reports.map((each) => ({ op: 'report', ...each }) as const))
      const { results, depth } = await upstream.ask('a', bookStep('3', { maxWaitMs: 500 }))
      assert.deepEqual([results[0]!.is, depth], ['too-long', 0])
      assert.ok('earliestMs' in results[0]! && results[0].earliestMs > 500)
    },
  },
  {
    name: 'refuses beyond the length of the queue, in total and by tenant',
    rules: { maxQueue: 3, maxQueuePerTenant: 2 },
    async check(upstream) {
      const of = (tenant: string, ...ids: string[]) => ids.map((id) => bookStep(id, { tenant }))
      await upstream.ask('a', ...of('x', '1', '2'))
      const steps = [...of('x', '3', '4', '5'), ...of('y', '6', '7')]
      assert.deepEqual(await upstream.results('a', ...steps), ['queued', 'queued', 'full', 'queued', 'full'])
    },
  },
  {
    name: 'serves callers in turn, however many tenants each invents, and tenants of one caller by their weights',
    rules: one,
    async check(upstream) {
      let last = await upstream.ask('a', bookStep('first'))
      const many = Array.from({ length: 9 }, (_, i) => bookStep(`m${i}`, { caller: 'm', tenant: `t${i}` }))
      const heavy = Array.from({ length: 4 }, (_, i) => bookStep(`h${i}`, { caller: 'x', tenant: 'h', weight: 3 }))
      const light = Array.from({ length: 4 }, (_, i) => bookStep(`l${i}`, { caller: 'x', tenant: 'l' }))
      await upstream.ask('a', ...many, ...heavy, ...light)
      const served: string[] = []
      while (served.length < 8) {
        last = await upstream.ask('a', { op: 'back', grant: upstream.nameOf(last) })
        served.push(...last.grants.map(({ id }) => id))
      }
      const count = (name: string): number => served.filter((id) => id.startsWith(name)).length
      assert.deepEqual([count('m'), count('h'), count('l')], [4, 3, 1], served.join(' '))
    },
  },
  {
    name: 'orders by arrival less priority, so that priority never starves anybody',
    rules: one,
    async check(upstream) {
      let last = await upstream.ask('a', bookStep('held'))
      await upstream.ask('a', bookStep('old', { waitedMs: 5000 }), bookStep('plain'))
      await upstream.ask('a', bookStep('urgent', { priorityMs: 2000 }))
      const order: string[] = []
      while (order.length < 3) {
        last = await upstream.ask('a', { op: 'back', grant: upstream.nameOf(last) })
        order.push(...last.grants.map(({ id }) => id))
      }
      assert.deepEqual(order, ['old', 'urgent', 'plain'])
    },
  },
  {
    name: 'pauses a scope or everything; full at once afterwards unless the vendor refused',
    rules: { limits: [{ key: limit, amount: 8, periodMs: 1000 }] },
    async check(upstream) {
      const pause = { op: 'pause', ms: 300, sentAgoMs: 0, chance: 0.5, maxMs: 60_000, refused: false } as const
      const scoped = await upstream.ask('a', { ...pause, scope: 'route' }, bookStep('1', { scope: 'route' }))
      assert.deepEqual([scoped.results[1]!.is, scoped.grants], ['paused', []])
      const all = await upstream.ask('a', { ...pause, scope: '' }, bookStep('2'))
      assert.deepEqual([all.results[1]!.is, all.grants], ['queued', []])
      assert.ok(all.pausedMs > 0 && all.pausedMs <= 300 && all.askInUs > 0)
      await upstream.elapse(320)
      const steps = Array.from({ length: 7 }, (_, i) => bookStep(`x${i}`))
      assert.equal((await upstream.ask('a', ...steps)).used[0], 8)
      await upstream.ask('a', { ...pause, scope: '', ms: 2500, refused: true })
      await upstream.elapse(2550)
      const few = await upstream.ask('a', ...steps.map((step) => ({ ...step, id: `y${step.id}` })))
      assert.equal(few.used[0], 2)
    },
  },
  {
    name: 'pauses after a success with nothing left, unless the log says as much and as long',
    async check(upstream) {
      const pause = { op: 'pause', scope: '', chance: 0.5, maxMs: 60_000, refused: false } as const
      const full = await upstream.ask('a', bookStep('1'), bookStep('2'), { ...pause, ms: 1000, sentAgoMs: 0 })
      assert.deepEqual([full.results[2]!.is, full.pausedMs], ['no', 0])
      // Its own units are not what the vendor speaks of: it says longer, or nothing was full since the call was sent.
      const longer = await upstream.ask('a', { ...pause, ms: 1001, sentAgoMs: 0 })
      assert.equal(longer.results[0]!.is, 'paused')
      await upstream.elapse(3100)
      const other = await upstream.ask('a', bookStep('3'), { ...pause, ms: 1000, sentAgoMs: 0 })
      assert.equal(other.results[1]!.is, 'paused')
    },
  },
  {
    name: 'widens arrival when the vendor refuses although there was room',
    async check(upstream) {
      const reply = await upstream.ask('a', { op: 'refusedWithRoom' }, { op: 'refusedWithRoom' })
      assert.deepEqual([reply.results.map(({ is }) => is), reply.widenedMs], [['ok', 'no'], 50])
    },
  },
  {
    name: 'lets the fleet retry only what its calls have paid for, and a floor',
    rules: { retryPerSecond: 0, retryPerCall: 500 },
    async check(upstream) {
      await upstream.ask('a', bookStep('1'), bookStep('2', { first: false }), bookStep('3'))
      assert.deepEqual(await upstream.results('b', { op: 'retry' }, { op: 'retry' }), ['ok', 'no'])
    },
  },
]
