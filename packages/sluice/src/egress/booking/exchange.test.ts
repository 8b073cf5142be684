import { describe, expect, test } from 'vitest'
import { randomHistory } from '../testing/random-history.ts'
import { bookOf, finish, idle, rules, run } from '../testing/steps.ts'
import { exchange } from './exchange.ts'
import { groupsOf } from './groups.ts'
import type { Step } from './messages.ts'
import { newState, type UpstreamState } from './state.ts'

describe('places', () => {
  test('are held until the owner reports that a period has passed', () => {
    const state = newState(0)
    const first = run(state, 'a', 0, [bookOf('1'), bookOf('2'), bookOf('3')])
    expect(first.results.map(({ is }) => is)).toEqual(['held', 'held', 'queued'])
    finish(state, 'a', 10, '1')
    expect(idle(state, 5000).held).toEqual([])
    expect(run(state, 'a', 5001, [{ op: 'free', limit: 'requests/1000', tick: '1' }]).held).toEqual(['3'])
  })

  test('on which nothing was written are free at once, and waiters move up', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('2'), bookOf('3'), bookOf('4')])
    expect(
      run(state, 'a', 1, [
        { op: 'cancel', id: '3' },
        { op: 'cancel', id: '1' },
      ]).held,
    ).toEqual(['4'])
  })

  test('go to waiters of other processes, which must exchange within 2 s', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('2')])
    run(state, 'b', 1, [bookOf('3')])
    run(state, 'c', 2, [bookOf('4')])
    finish(state, 'a', 3, '1')
    const freed = run(state, 'a', 1100, [{ op: 'free', limit: 'requests/1000', tick: '1' }])
    expect(freed.notify).toEqual([{ owner: 'b', ids: ['3'] }])
    idle(state, 2500, 'c')
    expect(idle(state, 3100, 'c').held).toEqual(['4'])
    expect(idle(state, 3101, 'b').held).toEqual([])
  })

  test('of a process that is gone are adopted: answered ones after 3 s, those in flight when they have surely arrived', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('2')])
    finish(state, 'a', 10, '1')
    expect(idle(state, 3000, 'b').adopted).toEqual([])
    expect(idle(state, 3010, 'b').adopted).toEqual([{ limit: 'requests/1000', tick: 'adopted-3010', units: 1 }])
    expect(idle(state, 9999, 'b').adopted).toEqual([])
    expect(idle(state, 10_000, 'b').adopted).toMatchObject([{ units: 1 }])
  })

  test('of a living process stay, however the clock of the server jumps', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('2')])
    exchange(state, { owner: 'b', sinceMs: -1, rules, steps: [] }, 100)
    const leapt = exchange(state, { owner: 'b', sinceMs: 100, rules, steps: [bookOf('3')] }, 500_200)
    expect(leapt).toMatchObject({ adopted: [], held: [], used: [2] })
    const back = exchange(state, { owner: 'b', sinceMs: 100, rules, steps: [] }, 300)
    expect(back).toMatchObject({ adopted: [], held: [], used: [2] })
  })

  test('that were booked twice by the same id are one place', () => {
    const state = newState(0)
    expect(run(state, 'a', 0, [bookOf('1'), bookOf('1')])).toMatchObject({ used: [1] })
  })

  test('are not given while a lowered limit is exceeded', () => {
    const state = newState(0)
    const wide = { ...rules, limits: [{ key: 'requests/1000', amount: 5, periodMs: 1000 }] }
    run(
      state,
      'a',
      0,
      ['1', '2', '3', '4', '5'].map((id) => bookOf(id)),
      wide,
    )
    for (const id of ['1', '2', '3']) finish(state, 'a', 1, id)
    run(state, 'a', 2, [bookOf('6')])
    for (const tick of ['1', '2', '3'])
      expect(run(state, 'a', 1100, [{ op: 'free', limit: 'requests/1000', tick }]).held).toEqual([])
    finish(state, 'a', 1101, '4')
    expect(run(state, 'a', 2200, [{ op: 'free', limit: 'requests/1000', tick: '4' }]).held).toEqual(['6'])
  })
})

describe('the queue', () => {
  const served = (state: UpstreamState, count: number): string[] => {
    const order: string[] = []
    for (let i = 0; i < count; i++) {
      const { held } = run(state, 'a', 10 + i, [{ op: 'cancel', id: order.at(-1) ?? '1' }])
      order.push(...held)
    }
    return order
  }
  const single = { ...rules, limits: [{ key: 'requests/1000', amount: 1, periodMs: 1000 }] }

  test('is first in, first out', () => {
    const state = newState(0)
    run(
      state,
      'a',
      0,
      ['1', '2', '3', '4'].map((id) => bookOf(id)),
      single,
    )
    expect(served(state, 3)).toEqual(['2', '3', '4'])
  })

  test('lets a priority pass those who came up to that much earlier, not all', () => {
    const state = newState(0)
    run(state, 'a', 0, [bookOf('1'), bookOf('old')], single)
    run(state, 'a', 2000, [bookOf('new')], single)
    run(state, 'a', 2500, [bookOf('urgent', { priorityMs: 1000 })], single)
    const order: string[] = []
    for (let i = 0; i < 3; i++) {
      const { held } = run(state, 'a', 2600 + i, [{ op: 'cancel', id: order.at(-1) ?? '1' }], single)
      order.push(...held)
    }
    expect(order).toEqual(['old', 'urgent', 'new'])
  })

  test('lets a light tenant go within two services, however many calls a heavy one has on however many processes', () => {
    const state = newState(0)
    run(
      state,
      'a',
      0,
      Array.from({ length: 500 }, (_, i) => bookOf(`a${i}`, { tenant: 'heavy', maxWaitMs: 1e9 })),
      single,
    )
    run(
      state,
      'b',
      0,
      Array.from({ length: 500 }, (_, i) => bookOf(`b${i}`, { tenant: 'heavy', maxWaitMs: 1e9 })),
      single,
    )
    run(state, 'a', 1, [bookOf('light', { tenant: 'light' })], single)
    let held = ['a0']
    const order: string[] = []
    for (let i = 0; i < 2; i++) {
      held = [...run(state, 'a', 2 + i, [{ op: 'cancel', id: held[0]! }], single).held]
      order.push(...held)
    }
    expect(order).toContain('light')
  })

  test('serves weights of 3 to 1 within 5 % over 400 services', () => {
    const state = newState(0)
    const heavy = Array.from({ length: 500 }, (_, i) => bookOf(`h${i}`, { tenant: 'h', weight: 3, maxWaitMs: 1e9 }))
    const light = Array.from({ length: 500 }, (_, i) => bookOf(`l${i}`, { tenant: 'l', weight: 1, maxWaitMs: 1e9 }))
    run(state, 'a', 0, [...heavy, ...light], single)
    let [id, ofHeavy] = ['h0', 0]
    for (let i = 0; i < 400; i++) {
      id = run(state, 'a', 1, [{ op: 'cancel', id }], single).held[0]!
      if (id.startsWith('h')) ofHeavy += 1
    }
    expect(Math.abs(ofHeavy - 300)).toBeLessThanOrEqual(15)
  })

  test('refuses at arrival what cannot be served within its maximum wait', () => {
    const state = newState(0)
    const limits = [{ key: 'requests/1000', amount: 25, periodMs: 1000 }]
    const by = { ...rules, limits, maxQueue: 10_000, maxQueuePerTenant: 10_000 }
    run(
      state,
      'a',
      0,
      Array.from({ length: 1550 }, (_, i) => bookOf(`${i}`)),
      by,
    )
    const { results } = run(state, 'a', 0, [bookOf('late')], by)
    // Those in flight may return their places unused; likely they will not, and it is served in the 62nd second.
    expect(results[0]).toEqual({ is: 'too-long', ahead: 1525, earliestMs: 62_000 })
  })
})

describe('a pause', () => {
  const pauseOf = (ms: number, sentAgoMs: number): Step => ({
    op: 'pause',
    scope: '',
    ms,
    sentAgoMs,
    chance: 1,
    maxMs: 60_000,
  })

  test('stops everything, is not lengthened by calls in flight, and ends with a ramp', () => {
    const state = newState(0)
    const by = { ...rules, limits: [{ key: 'requests/1000', amount: 8, periodMs: 1000 }] }
    run(state, 'a', 1000, [pauseOf(5000, 100)], by)
    expect(run(state, 'a', 1500, [pauseOf(5000, 700)], by)).toMatchObject({ pausedMs: 4500 })
    const queued = run(
      state,
      'a',
      2000,
      Array.from({ length: 10 }, (_, i) => bookOf(`${i}`)),
      by,
    )
    expect(queued).toMatchObject({ held: [], wakeMs: 4000 })
    expect(run(state, 'a', 6000, [], by).held).toHaveLength(2)
    expect(run(state, 'a', 8000, [], by).held).toHaveLength(3)
    expect(run(state, 'a', 10_000, [], by).held).toHaveLength(3)
  })
})

test('the retry budget is a share of calls plus a floor', () => {
  const state = newState(0)
  for (let i = 0; i < 100; i++) run(state, 'a', 0, [bookOf(`${i}`)])
  const retry: Step = { op: 'retry' }
  const granted = run(
    state,
    'a',
    0,
    Array.from({ length: 50 }, () => retry),
  ).results.filter(({ is }) => is === 'ok')
  expect(granted).toHaveLength(11)
  expect(
    run(
      state,
      'a',
      2000,
      Array.from({ length: 5 }, () => retry),
    ).results.filter(({ is }) => is === 'ok'),
  ).toHaveLength(2)
})

/** What is taken, added up from the records of calls and groups. */
function takenBy(state: UpstreamState, key: string, periodMs: number): number {
  let units = 0
  for (const call of state.calls.values()) {
    if (call.phase !== 'answered' || periodMs === 0) units += call.units[key] ?? 0
  }
  for (const owner of state.groups.keys())
    for (const group of groupsOf(state.groups, owner)) if (group.limit === key) units += group.units
  return units
}

test('has a record for each unit that is taken, and gives none while a limit is reached', () => {
  for (let seed = 1; seed <= 500; seed++) {
    const state = newState(1_000_000)
    let nowMs = 1_000_000
    for (const asked of randomHistory(seed)) {
      nowMs += asked.waitMs
      const reply = exchange(state, asked, nowMs)
      for (const [index, { key, periodMs, amount }] of asked.rules.limits.entries()) {
        expect(reply.used[index], `seed ${seed}`).toBe(takenBy(state, key, periodMs))
        // What is given must fit; only what calls turn out to have cost, or processes register, may exceed a limit.
        const mayExceed = asked.steps.some(({ op }) => op === 'done' || op === 'register')
        if (!mayExceed && reply.notify.length > 0) expect(reply.used[index], `seed ${seed}`).toBeLessThanOrEqual(amount)
      }
      const queued = [...state.active.values()].reduce((sum, { queue }) => sum + queue.length, 0)
      expect(state.waiting, `seed ${seed}`).toBe(queued)
    }
  }
})
