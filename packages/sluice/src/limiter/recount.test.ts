import { describe, expect, it } from 'vitest'
import type { PolicyDocument } from '../policy/document/document.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Recount } from '../stores/recount/recount.ts'
import { type SwitchedStore, silentStore, switchedStore } from '../testing/faulty-store.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { Limiter } from './limiter.ts'

const capOf = (amount: number, more: object = {}): PolicyDocument => ({
  service: 'shop',
  rules: [{ name: 'cap', limits: { amount, per: 'day' }, onStoreFailure: 'recount', ...more }],
})

/** A source of truth in this process. */
class Records {
  readonly ids = new Set<string>()
  calls = 0
  count = (): number => {
    this.calls += 1
    return this.ids.size
  }
  take = async (_key: unknown, { amount, cost }: { amount: number; cost: number }, id: string): Promise<boolean> => {
    this.calls += 1
    if (this.ids.size + cost > amount) return false
    this.ids.add(id)
    return true
  }
}

const noon = Date.UTC(2026, 5, 1, 12)

async function started(
  recount: Recount | undefined,
  options: { amount?: number; replicas?: number; clockMs?: number; policy?: PolicyDocument } = {},
): Promise<{ limiter: Limiter; store: SwitchedStore; clock: ReturnType<typeof virtualClock> }> {
  // The store was made before the day began, so that an absent counter is zero.
  const clock = virtualClock(options.clockMs ?? Date.UTC(2026, 4, 31))
  const store = switchedStore(memoryStore({ clock }))
  clock.set(noon)
  const limiter = await createLimiter({
    policy: options.policy ?? capOf(options.amount ?? 5),
    store,
    clock,
    replicas: options.replicas ?? 1,
    breaker: { failures: 1_000_000 },
    ...(recount === undefined ? {} : { recount: { cap: recount } }),
  })
  return { limiter: limiter as Limiter, store, clock }
}

async function takes(limiter: Limiter, times: number): Promise<number> {
  const decisions = await Promise.all(Array.from({ length: times }, () => limiter.take('customer')))
  return decisions.filter(({ allowed }) => allowed).length
}

describe('a rule that is recounted', () => {
  it('is decided by the store, and the source is not asked, while the store answers', async () => {
    const records = new Records()
    const { limiter } = await started(records.count)
    expect(await takes(limiter, 20)).toBe(5)
    expect(records.calls).toBe(0)
    expect((await limiter.take('other')).by).toBe('store')
  })

  it('asks the source while the store fails, once for a subject, and adds what was admitted since', async () => {
    const records = new Records()
    records.ids.add('yesterday-evening').add('this-morning')
    const { limiter, store } = await started(records.count)
    store.failing = 'refused'
    const first = await limiter.take('customer')
    expect(first).toMatchObject({ allowed: true, by: 'recount', degraded: true, failure: 'refused' })
    expect(await takes(limiter, 50)).toBe(2)
    expect(records.calls).toBe(1)
    expect(await limiter.take('customer')).toMatchObject({
      allowed: false,
      by: 'recount',
      reason: 'quota',
      rule: 'cap',
    })
    expect((await limiter.take('customer')).retryAfterMs).toBe(12 * 3_600_000)
  })

  it('takes what the store had counted for the least that was used, however late the source hears of it', async () => {
    const { limiter, store } = await started(() => 0)
    expect(await takes(limiter, 3)).toBe(3)
    store.failing = 'timeout'
    expect(await takes(limiter, 50)).toBe(2)
  })

  it('tells the store what was admitted without it', async () => {
    const { limiter, store, clock } = await started(() => 0)
    expect(await takes(limiter, 2)).toBe(2)
    store.failing = 'timeout'
    expect(await takes(limiter, 1)).toBe(1)
    store.failing = undefined
    await clock.advance('600ms')
    expect((await limiter.peek('customer')).limits[0]!.remaining).toBe(2)
    expect(await takes(limiter, 50)).toBe(2)
  })

  it('does not wait for that report when the subject is asked for again', async () => {
    const { limiter, store } = await started(() => 0)
    store.failing = 'timeout'
    expect(await takes(limiter, 4)).toBe(4)
    store.failing = undefined
    expect(await takes(limiter, 50)).toBe(1)
  })

  it('divides what remains among the replicas, rounded down', async () => {
    const { limiter, store } = await started(() => 1, { amount: 9, replicas: 3 })
    store.failing = 'refused'
    expect(await takes(limiter, 50)).toBe(2)
  })

  it('is closed when the source fails too', async () => {
    const { limiter, store } = await started(() => Promise.reject(new Error('the database is away')))
    store.failing = 'refused'
    expect(await limiter.take('customer')).toMatchObject({
      allowed: false,
      reason: 'unavailable',
      by: 'closed',
      rule: 'cap',
    })
  })

  it.each([-1, 1.5, Number.NaN, '3', undefined])('is closed when the source returns %s', async (count) => {
    const { limiter, store } = await started(() => count as number)
    store.failing = 'refused'
    expect((await limiter.take('customer')).allowed).toBe(false)
  })

  it('leaves half of the deadline to the source', async () => {
    const clock = virtualClock(Date.UTC(2026, 4, 31))
    const store = silentStore(memoryStore({ clock }))
    clock.set(noon)
    const askedMs: number[] = []
    const limiter = await createLimiter({
      policy: capOf(5),
      store,
      clock,
      deadline: 400,
      replicas: 1,
      recount: {
        cap: () => {
          askedMs.push(clock.monotonic())
          return 0
        },
      },
    })
    const decision = limiter.take('customer')
    await clock.advance('400ms')
    expect(await decision).toMatchObject({ allowed: true, by: 'recount', failure: 'timeout' })
    expect(askedMs).toEqual([200])
  })

  it('denies at the deadline when neither answers, and aborts the call of the source', async () => {
    const clock = virtualClock(noon)
    let signal: AbortSignal | undefined
    const limiter = await createLimiter({
      policy: capOf(5),
      store: silentStore(memoryStore({ clock })),
      clock,
      deadline: 400,
      replicas: 1,
      recount: {
        cap: (_key, period) => {
          signal = period.signal
          return new Promise(() => {})
        },
      },
    })
    const decision = limiter.take('customer')
    await clock.advance('400ms')
    expect(await decision).toMatchObject({ allowed: false, by: 'closed', reason: 'unavailable' })
    expect(signal?.aborted).toBe(true)
  })

  it('tells the source the parts of the key and the period in its zone', async () => {
    const seen: unknown[] = []
    const policy = capOf(5, { limits: { amount: 5, per: 'day', zone: 'America/New_York', name: 'daily' } })
    const { limiter, store } = await started(
      (key, { limit, start, end, amount, cost }) => {
        seen.push(key, { limit, start, end, amount, cost })
        return 0
      },
      { policy },
    )
    store.failing = 'refused'
    await limiter.take(['customer/1', 7], { cost: 2 })
    const day = { start: new Date('2026-06-01T04:00:00Z'), end: new Date('2026-06-02T04:00:00Z') }
    expect(seen).toEqual([['customer/1', 7], { limit: 'daily', amount: 5, cost: 2, ...day }])
  })

  it('counts anew with a new period', async () => {
    const { limiter, store, clock } = await started(() => 0)
    store.failing = 'refused'
    expect(await takes(limiter, 50)).toBe(5)
    clock.tick('12h')
    expect(await takes(limiter, 50)).toBe(5)
  })

  it('is closed for keys that are too long to be kept, as the source cannot know them', async () => {
    const { limiter, store } = await started(() => 0)
    store.failing = 'refused'
    expect((await limiter.take('x'.repeat(300))).allowed).toBe(false)
  })
})

describe('a source that decides', () => {
  it('holds the cap across replicas, one call at a time for a subject', async () => {
    const records = new Records()
    const replicas = await Promise.all([0, 1, 2].map(() => started({ take: records.take }, { replicas: 3 })))
    for (const { store } of replicas) store.failing = 'connection'
    const allowed = await Promise.all(replicas.map(({ limiter }) => takes(limiter, 200)))
    expect(allowed.reduce((a, b) => a + b)).toBe(5)
    // Whoever waits while one is refused is refused too.
    expect(records.calls).toBeLessThanOrEqual(5 + 3)
  })

  it('passes the id of a hold on, so that asking again is harmless', async () => {
    const ids: string[] = []
    const { limiter, store } = await started({ take: (_key, _period, id) => ids.push(id) > 0 })
    store.failing = 'refused'
    const hold = await limiter.reserve('customer', { id: 'delivery-7' })
    expect(hold.allowed).toBe(true)
    expect(ids).toEqual(['delivery-7'])
  })

  it('does not call the source for decisions whose time is up', async () => {
    const clock = virtualClock(noon)
    let calls = 0
    const limiter = await createLimiter({
      policy: capOf(500),
      store: silentStore(memoryStore({ clock })),
      clock,
      deadline: 400,
      replicas: 1,
      recount: {
        cap: {
          take: () => {
            calls += 1
            return new Promise<boolean>(() => {})
          },
        },
      },
    })
    const decisions = Array.from({ length: 100 }, () => limiter.take('customer'))
    await clock.advance('400ms')
    expect((await Promise.all(decisions)).some(({ allowed }) => allowed)).toBe(false)
    expect(calls).toBe(1)
  })
})

describe('a store that may have lost counters', () => {
  const midday = { clockMs: noon }

  it('is raised to what the source counts before it is believed', async () => {
    const records = new Records()
    for (const id of ['a', 'b', 'c']) records.ids.add(id)
    const { limiter } = await started(records.count, midday)
    expect(await takes(limiter, 200)).toBe(2)
    expect(records.calls).toBe(1)
    expect((await limiter.inspect('customer')).limits[0]!.remaining).toBe(0)
  })

  it('is never lowered by the source', async () => {
    let counted = 3
    const { limiter } = await started(() => counted, midday)
    expect(await takes(limiter, 1)).toBe(1)
    counted = 0
    expect(await takes(limiter, 50)).toBe(1)
  })

  it('is not believed when the source fails: what it allows is denied, and not spent', async () => {
    let isAway = true
    const { limiter } = await started(() => (isAway ? Promise.reject(new Error('away')) : 0), midday)
    expect(await takes(limiter, 3)).toBe(0)
    isAway = false
    expect(await takes(limiter, 50)).toBe(5)
  })

  it('leaves the decision to a source that decides but does not count', async () => {
    const records = new Records()
    records.ids.add('a').add('b')
    const { limiter } = await started({ take: records.take }, midday)
    expect(await limiter.take('customer')).toMatchObject({ allowed: true, by: 'recount', degraded: false })
    expect(await takes(limiter, 50)).toBe(2)
  })

  it('keeps what a reset forgot forgotten', async () => {
    const { limiter } = await started(() => 5, midday)
    expect(await takes(limiter, 3)).toBe(0)
    await limiter.reset('customer')
    expect(await takes(limiter, 50)).toBe(5)
  })
})

describe('rules of one decision', () => {
  const request = { method: 'POST', path: '/', headers: { 'x-customer': 'customer' }, body: undefined }
  const withSecond = (onStoreFailure: 'open' | 'closed' | 'local', limits: object): PolicyDocument => ({
    service: 'shop',
    rules: [
      { name: 'cap', key: 'headers.x-customer', limits: { amount: 5, per: 'day' }, onStoreFailure: 'recount' },
      { name: 'second', key: 'headers.x-customer', limits, onStoreFailure },
    ],
  })

  it.each([
    ['closed', 0, 'closed'],
    ['local', 3, 'recount'],
    ['open', 5, 'recount'],
  ] as const)('beside one that is %s, %i pass, by %s', async (mode, passes, by) => {
    const { limiter, store } = await started(() => 0, { policy: withSecond(mode, { amount: 3, per: '1h' }) })
    store.failing = 'refused'
    const decisions = []
    for (let i = 0; i < 10; i++) decisions.push(await limiter.check(request as never))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(passes)
    expect(decisions[0]!.by).toBe(by)
  })
})

describe('what is not set up', () => {
  it('is closed and warns where the policy names recount and the code has no function', async () => {
    const { limiter, store } = await started(undefined)
    expect((await limiter.health()).warnings).toContainEqual(expect.stringContaining('recount.cap'))
    store.failing = 'refused'
    expect(await limiter.take('customer')).toMatchObject({ allowed: false, by: 'closed', rule: 'cap' })
  })

  it('warns where the code names a rule that is not recounted', async () => {
    const { limiter } = await started(() => 0, { policy: capOf(5, { onStoreFailure: 'open' }) })
    expect((await limiter.health()).warnings).toContainEqual(expect.stringContaining('Code recounts the rule cap'))
  })

  it.each([
    [{ rpm: 5 }],
    [
      [
        { amount: 5, per: 'day' },
        { amount: 9, per: 'month' },
      ],
    ],
    [{ amount: 5, per: '1d' }],
  ])('is refused in a policy with limits %j', async (limits) => {
    await expect(createLimiter({ policy: capOf(5, { limits }) })).rejects.toThrow('exactly one limit')
  })

  it('is refused with leases', async () => {
    await expect(createLimiter({ policy: capOf(5, { lease: true }) })).rejects.toThrow('leave lease out')
  })

  it.each([5, {}, { take: 5 }, { take: Boolean, counts: Number }, { take: Boolean, concurrency: 0 }])(
    'is refused as the option %j',
    async (recount) => {
      await expect(started(recount as never)).rejects.toThrow('createLimiter.recount.cap')
    },
  )
})

describe('a store that is wiped while it is in use', () => {
  it('gives back what it allowed before it is asked again, also beside a place that is held', async () => {
    const clock = virtualClock(noon)
    const policy: PolicyDocument = {
      service: 'shop',
      rules: [
        { name: 'cap', key: 'headers.x-customer', limits: { amount: 5, per: 'day' }, onStoreFailure: 'recount' },
        { name: 'busy', key: 'headers.x-customer', limits: { amount: 9, algorithm: 'concurrency' } },
      ],
    }
    let inner = memoryStore({ clock })
    const { abilities: _, ...store } = inner
    const limiter = await createLimiter({
      policy,
      store: { ...store, decide: (ask) => inner.decide(ask, 0) },
      clock,
      replicas: 1,
      recount: { cap: () => 2 },
    })
    const request = { method: 'GET', path: '/', headers: { 'x-customer': 'customer' } }
    const admit = () => limiter.admit(request as never)
    expect((await admit()).decision.allowed).toBe(true)
    inner = memoryStore({ clock })
    // The store counts from zero again, which shows by a count that has gone down.
    expect((await admit()).decision.allowed).toBe(true)
    expect((await limiter.inspect('customer', { rule: 'cap' })).limits[0]!.remaining).toBeLessThanOrEqual(2)
    expect((await limiter.inspect('customer', { rule: 'busy' })).holds).toHaveLength(1)
  })
})
