import { describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Recount } from '../stores/recount/recount.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { type VirtualClock, virtualClock } from '../testing/virtual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { LimiterEvents } from './events.ts'
import type { Limiter } from './limiter.ts'

const noon = Date.UTC(2026, 5, 1, 12)

async function started(
  recount: Recount,
  /** When the store was made: what is absent from one that was made today has to be recounted. */
  madeMs = noon,
): Promise<{ limiter: Limiter; store: ReturnType<typeof switchedStore>; clock: VirtualClock }> {
  const clock = virtualClock(madeMs)
  const store = switchedStore(memoryStore({ clock }))
  clock.set(noon)
  const limiter = await createLimiter({
    policy: { service: 'shop', rules: [{ name: 'cap', limits: { amount: 5, per: 'day' }, onStoreFailure: 'recount' }] },
    store,
    clock,
    deadline: 400,
    replicas: 1,
    breaker: { failures: 1_000_000 },
    recount: { cap: recount },
  })
  return { limiter: limiter as Limiter, store, clock }
}

describe('a source of truth that fails', () => {
  const wrong: readonly [unknown, Recount, string][] = [
    ["'3'", (() => '3') as never, 'recount.cap returned "3"; return a whole number of units from 0.'],
    ['NaN', () => Number.NaN, 'recount.cap returned NaN; return a whole number'],
    ['nothing', (() => {}) as never, 'recount.cap returned undefined; return a whole number'],
    ['an error', () => Promise.reject(new Error('no such table')), 'The source of cap failed: no such table'],
    ['1 for take', { take: (() => 1) as never }, 'recount.cap.take returned 1; return true or false.'],
    ['a row count', { take: (() => ({ rowCount: 1 })) as never }, 'recount.cap.take returned an object; return true'],
  ]

  it.each(wrong)('with %s is seen in the decision, the event and the health', async (_, recount, message) => {
    const { limiter, store } = await started(recount)
    const seen: LimiterEvents['recounted'][] = []
    limiter.on('recounted', (event) => seen.push(event))
    store.failing = 'refused'
    expect(await limiter.take('customer')).toMatchObject({
      allowed: false,
      reason: 'unavailable',
      by: 'closed',
      degraded: true,
      failure: 'source',
    })
    expect(seen).toEqual([{ rule: 'cap', outcome: 'failed', error: expect.anything() }])
    expect(seen[0]!.error!.message).toContain(message)
    const { ready, warnings } = await limiter.health()
    expect(ready).toBe(false)
    expect(warnings).toContainEqual(expect.stringContaining(message))
  })

  it('is seen also where the store answers, but has lost its counters', async () => {
    const { limiter } = await started(() => Promise.reject(new Error('no such table')))
    expect(await limiter.take('customer')).toMatchObject({ by: 'closed', degraded: true, failure: 'source' })
    expect((await limiter.health()).warnings).toContainEqual(expect.stringContaining('no such table'))
  })

  it('is forgotten as soon as it answers', async () => {
    let isAway = true
    const { limiter } = await started(() => (isAway ? Promise.reject(new Error('away')) : 0))
    await limiter.take('customer')
    isAway = false
    expect((await limiter.take('customer')).allowed).toBe(true)
    expect(await limiter.health()).toMatchObject({ ready: true, warnings: [] })
  })

  it('keeps the cause', async () => {
    const cause = new Error('no such table')
    const { limiter } = await started(() => Promise.reject(cause))
    const seen: LimiterEvents['recounted'][] = []
    limiter.on('recounted', (event) => seen.push(event))
    await limiter.take('customer')
    expect(seen[0]!.error).toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'source', cause })
  })
})

describe('a source of truth that is slow', () => {
  /** Counts the calls that run at once. */
  function slow(ms: number, clock: () => VirtualClock): { calls: number; most: number; run<T>(value: T): Promise<T> } {
    let running = 0
    const seen = {
      calls: 0,
      most: 0,
      async run<T>(value: T): Promise<T> {
        seen.calls += 1
        running += 1
        seen.most = Math.max(seen.most, running)
        await new Promise<void>((resolve) => clock().setTimeout(resolve, ms))
        running -= 1
        return value
      },
    }
    return seen
  }

  it.each(['count', 'take'] as const)('has one call for a subject at a time after deadlines too: %s', async (form) => {
    let clock = virtualClock()
    const calls = slow(1000, () => clock)
    const recount: Recount = form === 'count' ? () => calls.run(0) : { take: () => calls.run(true) }
    const { limiter, store, clock: itsClock } = await started(recount)
    clock = itsClock
    store.failing = 'refused'
    const decisions: Promise<unknown>[] = []
    for (let i = 0; i < 20; i++) {
      decisions.push(limiter.take('customer'))
      await clock.advance('150ms')
    }
    await clock.advance('2s')
    await Promise.all(decisions)
    expect(calls.most).toBe(1)
    expect(calls.calls).toBeGreaterThan(1)
  })

  it('never has more calls at once than its concurrency, whether anybody waits for them or not', async () => {
    let clock = virtualClock()
    const calls = slow(1000, () => clock)
    const { limiter, store, clock: itsClock } = await started({ take: () => calls.run(true), concurrency: 2 })
    clock = itsClock
    store.failing = 'refused'
    const decisions: Promise<unknown>[] = []
    for (let i = 0; i < 20; i++) {
      decisions.push(limiter.take(`customer-${i}`))
      await clock.advance('150ms')
    }
    await clock.advance('3s')
    await Promise.all(decisions)
    expect(calls.most).toBe(2)
  })

  it('gets what it counted late used by whoever came later', async () => {
    let clock = virtualClock()
    const calls = slow(500, () => clock)
    const { limiter, store, clock: itsClock } = await started(() => calls.run(0), noon - 86_400_000)
    clock = itsClock
    store.failing = 'refused'
    const first = limiter.take('customer')
    await clock.advance('300ms')
    const second = limiter.take('customer')
    await clock.advance('400ms')
    expect([(await first).allowed, (await second).allowed, calls.calls]).toEqual([false, true, 1])
  })
})

it('counts what sources were asked, for stats and reports', async () => {
  const { limiter, store } = await started(() => 4)
  limiter.stats()
  store.failing = 'refused'
  await limiter.take('customer')
  await limiter.take('customer')
  store.failing = undefined
  await limiter.take('customer')
  expect(limiter.stats().recounts).toEqual([{ rule: 'cap', allowed: 1, denied: 1, failed: 0, raised: 1 }])
})

it('a source that never answers does not keep the process alive', async () => {
  const { limiter, store, clock } = await started(() => new Promise(() => {}))
  const kept = new Set<object>()
  const { setTimeout, clearTimeout } = clock
  clock.setTimeout = (...timed) => {
    const timer = setTimeout.call(clock, ...(timed as never as Parameters<typeof setTimeout>))
    kept.add(timer)
    timer.unref = () => {
      kept.delete(timer)
      return timer
    }
    return timer
  }
  clock.clearTimeout = (timer) => {
    if (timer !== undefined) kept.delete(timer)
    clearTimeout.call(clock, timer)
  }
  store.failing = 'refused'
  const decision = limiter.take('customer')
  await clock.advance(1000)
  expect(await decision).toMatchObject({ by: 'closed', failure: 'source' })
  await limiter.close()
  expect(clock.pending).toBe(1)
  expect(kept.size).toBe(0)
})
