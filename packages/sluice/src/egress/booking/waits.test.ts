import { describe, expect, test } from 'vitest'
import { bookOf, finish, idle, rules, run } from '../testing/steps.ts'
import { newState, type UpstreamState } from './state.ts'

describe('a place', () => {
  test('that is not confirmed goes to the next waiter after 2 s, and the first one keeps its turn', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('2')])
    run(state, 'b', 1, [bookOf('3'), bookOf('5')])
    run(state, 'c', 2, [bookOf('4'), bookOf('6')])
    finish(state, 'a', 3, '1')
    idle(state, 1000, 'b')
    run(state, 'a', 1001, [{ op: 'free', limit: 'requests/1000', tick: '1' }])
    idle(state, 2500, 'c')
    expect(idle(state, 3000, 'c').held).toEqual([])
    // The process of the first was silent for 2.001 s only: it is not gone, and neither are its calls.
    expect(idle(state, 3001, 'c')).toMatchObject({ held: ['4'], adopted: [], processes: 3 })
    expect(idle(state, 3100, 'b')).toMatchObject({ held: [], known: true, depth: 3 })
    finish(state, 'a', 3101, '2')
    const freed = run(state, 'a', 3500, [{ op: 'free', limit: 'requests/1000', tick: '2' }])
    expect(freed.notify).toEqual([{ owner: 'b', ids: ['3'] }])
  })

  test('is not assigned to a process that was silent for 2 s while another one waits', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('2')])
    run(state, 'b', 1, [bookOf('3')])
    run(state, 'c', 2, [bookOf('4')])
    idle(state, 1500, 'a')
    idle(state, 1500, 'c')
    expect(run(state, 'a', 2100, [{ op: 'cancel', id: '1' }]).notify).toEqual([{ owner: 'c', ids: ['4'] }])
    expect(run(state, 'b', 2200, [{ op: 'cancel', id: '3' }]).results).toEqual([{ is: 'ok' }])
    expect(idle(state, 2201, 'b')).toMatchObject({ depth: 0 })
  })
})

describe('the expected wait of a call', () => {
  const limits = [{ key: 'requests/1000', amount: 2, periodMs: 20_000 }]
  const slow = { ...rules, limits }
  const ask = (state: UpstreamState, nowMs: number, maxWaitMs: number) =>
    run(state, 'a', nowMs, [bookOf(`at ${nowMs}`, { maxWaitMs }), { op: 'cancel', id: `at ${nowMs}` }], slow).results[0]
  const end = (state: UpstreamState, nowMs: number, id: string) =>
    run(state, 'a', nowMs, [{ op: 'answered', id, ticks: { 'requests/1000': id } }], slow)

  test('is a period after the oldest answer, and a shorter wait is refused at once', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('2')], slow)
    end(state, 1000, '1')
    end(state, 5000, '2')
    expect(ask(state, 6000, 14_999)).toEqual({ is: 'too-long', ahead: 0, earliestMs: 15_000 })
    expect(ask(state, 6001, 14_999)).toEqual({ is: 'queued', ahead: 0, earliestMs: 14_999 })
    run(state, 'a', 21_006, [{ op: 'free', limit: 'requests/1000', tick: '1' }], slow)
    run(state, 'a', 21_007, [bookOf('3')], slow)
    expect(ask(state, 21_008, 3000)).toEqual({ is: 'queued', ahead: 0, earliestMs: 3992 })
  })

  test('assumes that calls in flight are answered, but no call is refused for it, as they may return their places', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('2')], slow)
    expect(ask(state, 1, 1000)).toEqual({ is: 'queued', ahead: 0, earliestMs: 20_000 })
  })
})
