import assert from 'node:assert/strict'
import type { Adopted } from '../../egress/booking/messages.ts'
import { waitFor } from '../wait-for.ts'
import { type BookingCase, bookStep, finishSteps, limit } from './case.ts'

/** How places are given, kept and given back. */
export const places: readonly BookingCase[] = [
  {
    name: 'gives places while there are any, then queues, first in, first out',
    async check(bench) {
      const upstream = await bench.upstream()
      const steps = ['1', '2', '3', '4'].map((id) => bookStep(id))
      assert.deepEqual(await upstream.results('a', ...steps), ['held', 'held', 'queued', 'queued'])
      const { held, depth, used } = await upstream.ask('a', { op: 'cancel', id: '2' })
      assert.deepEqual({ held, depth, used }, { held: ['3'], depth: 1, used: [2] })
    },
  },
  {
    name: 'keeps the place of an answered call until its owner says that a period has passed',
    async check(bench) {
      const upstream = await bench.upstream()
      await upstream.ask('a', bookStep('1'), bookStep('2'), bookStep('3'), ...finishSteps('1', 't'))
      assert.deepEqual((await upstream.ask('a')).used, [2])
      const free = { op: 'free', limit, tick: 't' } as const
      const freed = await upstream.ask('a', free, free)
      assert.deepEqual([freed.results.map(({ is }) => is), freed.held, freed.used], [['ok', 'gone'], ['3'], [2]])
    },
  },
  {
    name: 'books one place for one id, however often it is asked',
    async check(bench) {
      const upstream = await bench.upstream()
      await upstream.ask('a', bookStep('1'))
      const again = await upstream.ask('a', bookStep('1'), bookStep('1'), bookStep('2'), bookStep('3'), bookStep('3'))
      assert.deepEqual(
        again.results.map(({ is }) => is),
        ['held', 'held', 'held', 'queued', 'queued'],
      )
      assert.deepEqual([again.used, again.depth], [[2], 1])
    },
  },
  {
    name: 'lets only its owner give a place back, and only once',
    async check(bench) {
      const upstream = await bench.upstream()
      await upstream.ask('a', bookStep('1'))
      assert.deepEqual(await upstream.results('b', { op: 'cancel', id: '1' }, ...finishSteps('1')), [
        'gone',
        'gone',
        'gone',
      ])
      const cancel = { op: 'cancel', id: '1' } as const
      assert.deepEqual(await upstream.results('a', cancel, cancel), ['ok', 'gone'])
      assert.deepEqual((await upstream.ask('a')).used, [0])
    },
  },
  {
    name: 'spends of all limits or of none, and nobody is overtaken for needing more',
    async check(bench) {
      const limits = [
        { key: limit, amount: 2, periodMs: 1000 },
        { key: 'tokens/60000', amount: 10, periodMs: 60_000 },
        { key: 'in-flight', amount: 2, periodMs: 0 },
      ]
      const upstream = await bench.upstream({ limits })
      const units = (tokens: number) => ({ units: { [limit]: 1, 'tokens/60000': tokens, 'in-flight': 1 } })
      const steps = [bookStep('1', units(6)), bookStep('2', units(6)), bookStep('3', units(1))]
      const { results, used } = await upstream.ask('a', ...steps)
      assert.deepEqual(
        results.map(({ is }) => is),
        ['held', 'queued', 'queued'],
      )
      assert.deepEqual(used, [1, 6, 1])
      const ticks = { [limit]: 't', 'tokens/60000': 't' }
      const settled = await upstream.ask(
        'a',
        { op: 'answered', id: '1', ticks },
        { op: 'done', id: '1', units: { 'tokens/60000': 2 }, ticks },
      )
      assert.deepEqual([settled.held, settled.used], [['2'], [2, 8, 1]])
    },
  },
  {
    name: 'assigns freed places to waiters of other processes and notifies them',
    async check(bench) {
      const upstream = await bench.upstream()
      let heard = 0
      const stop = upstream.listen('b', () => {
        heard += 1
      })
      try {
        await upstream.ask('a', bookStep('1'), bookStep('2'))
        await upstream.ask('b', bookStep('3'))
        // Ports that need a moment to begin to listen call once when they do.
        await waitFor(() => heard > 0, { timeoutMs: 1000 }).catch(() => undefined)
        heard = 0
        await upstream.ask('a', { op: 'cancel', id: '1' })
        await waitFor(() => heard > 0)
        assert.deepEqual((await upstream.ask('b')).held, ['3'])
      } finally {
        stop()
      }
    },
  },
  {
    name: 'passes over the waiters of a process that is silent for 3 s, and adopts its places',
    async check(bench) {
      const upstream = await bench.upstream()
      await upstream.ask('a', bookStep('1'), bookStep('2'), ...finishSteps('2', 't'))
      await upstream.ask('b', bookStep('3'))
      await upstream.ask('c', bookStep('4'))
      // The place is assigned to the waiter of b, which never confirms it.
      await upstream.ask('a', { op: 'cancel', id: '1' })
      const held: string[] = []
      const adopted: Adopted[] = []
      for (let step = 0; step < 12; step++) {
        await bench.elapse(500)
        const reply = await upstream.ask('c')
        held.push(...reply.held)
        adopted.push(...reply.adopted)
      }
      assert.deepEqual([held, adopted.map(({ units }) => units)], [['4'], [1]])
      const freed = await upstream.ask('c', { op: 'free', limit, tick: adopted[0]!.tick })
      assert.deepEqual([freed.used, freed.processes, freed.depth], [[1], 1, 0])
    },
  },
  {
    name: 'replaces what it knew of a process by what that process registers',
    async check(bench) {
      const upstream = await bench.upstream()
      await upstream.ask('a', bookStep('1'), bookStep('2'))
      const register = {
        op: 'register',
        calls: [{ id: '2', units: { [limit]: 1 } }],
        groups: [{ limit, tick: 't', units: 1 }],
      } as const
      assert.deepEqual((await upstream.ask('a', register, register)).used, [2])
      assert.deepEqual((await upstream.ask('a', { ...register, groups: [] }, { op: 'cancel', id: '2' })).used, [0])
    },
  },
]
