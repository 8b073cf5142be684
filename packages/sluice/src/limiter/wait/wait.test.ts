import { afterEach, describe, expect, test } from 'vitest'
import type { PolicySource, SourceListener } from '../../policy/live/source.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { wrapStore } from '../../stores/wrap-store.ts'
import { switchedStore } from '../../testing/faulty-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createLimiter } from '../create-limiter.ts'
import type { Decision } from '../decision/decision.ts'
import type { Limiter } from '../limiter.ts'
import type { LimiterOptions } from '../limiter-options.ts'

const limiters: Limiter[] = []
afterEach(() => Promise.all(limiters.splice(0).map((limiter) => limiter.close())))

/** A limiter on a virtual clock, over a store that counts what it is asked. */
async function waitingOn(options: Partial<LimiterOptions> = {}) {
  const clock = virtualClock()
  const memory = memoryStore({ clock })
  const asked: string[] = []
  const counted = wrapStore(memory, {
    decide: async (ask, withinMs) => {
      asked.push(ask.kind)
      return memory.decide(ask, withinMs)
    },
  })
  const store = switchedStore(counted)
  const limits = options.policy === undefined ? { limits: { rps: 2 } } : {}
  const limiter: Limiter = await createLimiter({ ...limits, store, clock, replicas: 1, ...options })
  limiters.push(limiter)
  return { limiter, clock, asked, store }
}

/** Notes the order in which things end. */
function noted(log: string[], name: string, wait: Promise<Decision>): Promise<void> {
  return wait.then(
    ({ allowed }) => void log.push(allowed ? name : `${name} refused`),
    (error) => void log.push(`${name} ${(error as Error).message}`),
  )
}

describe('wait', () => {
  test('passes at once what take would allow, and the others in their order, when there is room', async () => {
    const { limiter, clock } = await waitingOn()
    const log: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) void noted(log, name, limiter.wait('k'))
    await clock.advance(0)
    expect(log).toEqual(['a', 'b'])
    expect(await limiter.wait('other key')).toMatchObject({ allowed: true })
    expect(limiter.waiting).toBe(3)
    await clock.advance(999)
    expect(log).toHaveLength(2)
    await clock.advance(1)
    expect(log.slice(2)).toEqual(['c', 'd'])
    await clock.advance(1000)
    expect(log.at(-1)).toBe('e')
    expect(limiter.waiting).toBe(0)
  })

  test('tells each of those that pass together what was left after it', async () => {
    const { limiter, clock } = await waitingOn({ limits: { rps: 5 } })
    const waits = [1, 2, 3, 4, 5, 6].map(() => limiter.wait('k'))
    await clock.advance(1000)
    const left = (await Promise.all(waits)).map(({ limits }) => limits[0]?.remaining)
    expect(left).toEqual([4, 3, 2, 1, 0, 4])
  })

  test('asks once for each window, however many wait', async () => {
    const { limiter, clock, asked } = await waitingOn({ limits: { rps: 100 }, denyCache: false })
    const all = Promise.all(Array.from({ length: 1000 }, () => limiter.wait('k')))
    await clock.advance('10s')
    expect((await all).every(({ allowed }) => allowed)).toBe(true)
    expect(asked.length).toBeLessThanOrEqual(21)
  })

  test('serves what costs more in its turn, and nobody before it', async () => {
    const { limiter, clock } = await waitingOn({ limits: { rps: 4 } })
    const log: string[] = []
    for (const [i, cost] of [3, 3, 1, 4, 1].entries()) void noted(log, `${i}`, limiter.wait('k', { cost }))
    await clock.advance(0)
    expect(log).toEqual(['0'])
    await clock.advance('1s')
    expect(log).toEqual(['0', '1', '2'])
    await clock.advance('2s')
    expect(log).toEqual(['0', '1', '2', '3', '4'])
  })

  test('refuses at once what would take longer than maxWait, and says how long', async () => {
    const { limiter, clock } = await waitingOn()
    const early = Array.from({ length: 6 }, () => limiter.wait('k'))
    await clock.advance(0)
    // Two have passed, four wait for the next two seconds.
    expect(await limiter.wait('k', { maxWait: '2s' })).toMatchObject({
      allowed: false,
      reason: 'quota',
      retryAfterMs: 3000,
    })
    const patient = limiter.wait('k', { maxWait: '4s' })
    expect(await limiter.wait('k', { cost: 3 })).toMatchObject({ allowed: false, retryAfterMs: Infinity })
    await clock.advance('3s')
    expect(await patient).toMatchObject({ allowed: true })
    await Promise.all(early)
  })

  test('is over when its time is, also where that was not known before', async () => {
    const policy = {
      service: 's',
      rules: [{ name: 'r', limits: [{ amount: 1, per: '10s', algorithm: 'sliding-log' as const }] }],
    }
    const { limiter, clock } = await waitingOn({ policy })
    await limiter.wait('k')
    const [first, late] = [limiter.wait('k'), limiter.wait('k', { maxWait: '15s' })]
    const log: string[] = []
    void noted(log, 'late', late)
    await clock.advance('15s')
    expect(log).toEqual(['late refused'])
    expect(await first).toMatchObject({ allowed: true })
  })

  test('ends with its signal, and takes nothing', async () => {
    const { limiter, clock } = await waitingOn()
    await Promise.all([limiter.wait('k'), limiter.wait('k')])
    const abort = new AbortController()
    const aborted = limiter.wait('k', { signal: abort.signal })
    const next = limiter.wait('k')
    abort.abort(new Error('gone'))
    await expect(aborted).rejects.toThrow('gone')
    await clock.advance('1s')
    expect(await next).toMatchObject({ allowed: true })
    expect((await limiter.peek('k')).limits[0]!.remaining).toBe(1)
    await expect(limiter.wait('k', { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
  })

  test('at most maxWaiting wait; others are refused at once', async () => {
    const { limiter, clock } = await waitingOn({ maxWaiting: 3 })
    const waiting = Array.from({ length: 3 }, () => limiter.wait('k'))
    await clock.advance(0)
    const more = [limiter.wait('k'), limiter.wait('k')]
    await clock.advance(0)
    expect(limiter.waiting).toBe(3)
    expect(await limiter.wait('k')).toMatchObject({ allowed: false, retryAfterMs: 2000 })
    expect(await limiter.wait('free')).toMatchObject({ allowed: true })
    await clock.advance('2s')
    await Promise.all([...waiting, ...more])
  })

  test('passes while the store is away and the rule is open, and waits for it where that is closed', async () => {
    const rules = (['open', 'closed', 'local'] as const).map((name) => ({
      name,
      limits: { rps: 1 },
      onStoreFailure: name,
    }))
    const { limiter, clock, store } = await waitingOn({ policy: { service: 's', rules } })
    store.failing = 'refused'
    const open = await Promise.all(Array.from({ length: 5 }, () => limiter.wait('k', { rule: 'open' })))
    expect(open.every(({ allowed, degraded }) => allowed && degraded)).toBe(true)
    const log: string[] = []
    void noted(log, 'closed', limiter.wait('k', { rule: 'closed' }))
    for (const name of ['local 1', 'local 2']) void noted(log, name, limiter.wait('k', { rule: 'local' }))
    await clock.advance('900ms')
    expect(log).toEqual(['local 1'])
    store.failing = undefined
    await clock.advance('1s')
    expect(log.sort()).toEqual(['closed', 'local 1', 'local 2'])
  })

  test('a reset and a refund wake who waits', async () => {
    const { limiter, clock } = await waitingOn({ limits: { rph: 1 } })
    const log: string[] = []
    for (const name of ['a', 'b', 'c']) void noted(log, name, limiter.wait('k'))
    await clock.advance('1s')
    await limiter.reset('k')
    await clock.advance(0)
    expect(log).toEqual(['a', 'b'])
    await limiter.refund('k')
    await clock.advance(0)
    expect(log).toEqual(['a', 'b', 'c'])
  })

  test('a new policy wakes who waits, and is what they are decided by', async () => {
    const of = (rph: number) => ({ service: 's', rules: [{ name: 'r', limits: { rph } }] })
    let listener: SourceListener | undefined
    const policy: PolicySource = {
      description: 'changing',
      start: async (given) => {
        listener = given
        return { document: of(1), revision: 1 }
      },
      close: async () => {},
    }
    const { limiter, clock } = await waitingOn({ policy })
    const log: string[] = []
    for (const name of ['a', 'b', 'c']) void noted(log, name, limiter.wait('k'))
    await clock.advance('1s')
    expect(log).toEqual(['a'])
    listener!.changed({ document: of(3), revision: 2 })
    await clock.advance('10s')
    expect(log).toEqual(['a', 'b', 'c'])
  })

  test.each([
    ['a rule', (until: number) => ({ until, limits: { rpd: 1 } })],
    [
      'an override',
      (until: number) => ({ limits: { rpd: 100 }, overrides: [{ key: 'k', limits: { rpd: 1 }, until }] }),
    ],
  ])('passes when the term of %s ends that it waits for, not when the limit would let it', async (_, rule) => {
    const untilMs = virtualClock().now() / 1000 + 60_000
    const rules = [{ name: 'r', key: 'ip', ...rule(untilMs) }]
    const { limiter, clock, asked } = await waitingOn({ policy: { service: 's', rules } })
    expect(await limiter.take('k')).toMatchObject({ allowed: true })
    const log: string[] = []
    const waits = ['a', 'b'].map((name) => noted(log, name, limiter.wait('k')))
    await clock.advance('59s')
    expect([log, asked.filter((kind) => kind === 'take').length]).toEqual([[], 2])
    await clock.advance('3s')
    await Promise.all(waits)
    expect(log).toEqual(['a', 'b'])
  })

  test('units of who gave up while they were being taken come back', async () => {
    const clock = virtualClock()
    const memory = memoryStore({ clock })
    let release = (): void => undefined
    const slow = wrapStore(memory, {
      decide: async (ask, withinMs) => {
        if (ask.kind === 'take') await new Promise<void>((resolve) => (release = resolve))
        return memory.decide(ask, withinMs)
      },
    })
    const limiter: Limiter = await createLimiter({ limits: { rps: 5 }, store: slow, clock, replicas: 1 })
    limiters.push(limiter)
    const abort = new AbortController()
    const gone = limiter.wait('k', { signal: abort.signal })
    const late = limiter.wait('k', { maxWait: 10 })
    await clock.advance(0)
    abort.abort(new Error('gone'))
    await expect(gone).rejects.toThrow('gone')
    await clock.advance(20)
    release()
    await clock.advance(0)
    expect((await limiter.peek('k')).limits[0]!.remaining).toBe(5)
    release()
    // Nothing had been denied, so it was not refused before it was asked for.
    expect(await late).toMatchObject({ allowed: true })
  })

  test('closing the limiter ends all waits', async () => {
    const { limiter, clock } = await waitingOn()
    const waits = Promise.allSettled(Array.from({ length: 5 }, () => limiter.wait('k')))
    await clock.advance(0)
    await limiter.close()
    const ended = await waits
    expect(ended.slice(2)).toMatchObject(Array(3).fill({ reason: { code: 'SLUICE_CLOSED' } }))
    expect(limiter.waiting).toBe(0)
  })

  test('requests wait for all rules that they meet', async () => {
    const rules = [
      { name: 'address', key: ['ip'], limits: { rps: 2 } },
      { name: 'all', key: ['path'], limits: { rps: 3 } },
      { name: 'seen', key: ['ip'], limits: { rps: 1 }, mode: 'shadow' as const },
    ]
    const { limiter, clock } = await waitingOn({ policy: { service: 's', rules } })
    const view = (ip: string) => ({ method: 'GET', path: '/', headers: {}, ip })
    const log: string[] = []
    for (const ip of ['1.1.1.1', '1.1.1.1', '1.1.1.1', '2.2.2.2', '2.2.2.2'])
      void noted(log, ip, limiter.wait(view(ip)))
    await clock.advance(0)
    expect(log.toSorted()).toEqual(['1.1.1.1', '1.1.1.1', '2.2.2.2'])
    await clock.advance('1s')
    expect(log).toHaveLength(5)
  })

  test('acquire with maxWait waits for a permit, and is woken when one comes back', async () => {
    const rules = [{ name: 'r', limits: [{ amount: 1, algorithm: 'concurrency' as const }] }]
    const { limiter, clock } = await waitingOn({ policy: { service: 's', rules } })
    const first = await limiter.acquire('k')
    const second = limiter.acquire('k', { maxWait: '1m' })
    const third = limiter.acquire('k', { maxWait: '1m' })
    await clock.advance(10)
    await first.release()
    expect((await second).allowed).toBe(true)
    await (await second).release()
    expect((await third).allowed).toBe(true)
    expect(await limiter.acquire('k')).toMatchObject({ allowed: false })
  })

  test('counts each wait once, by how it ended', async () => {
    const { limiter, clock } = await waitingOn()
    limiter.stats()
    const decided: boolean[] = []
    limiter.on('decided', ({ decision }) => decided.push(decision.allowed))
    const abort = new AbortController()
    const waits = Promise.allSettled([
      ...Array.from({ length: 4 }, () => limiter.wait('k')),
      limiter.wait('k', { signal: abort.signal }),
    ])
    await clock.advance(0)
    expect(limiter.stats().waits).toMatchObject({ waiting: 3 })
    await limiter.wait('k', { maxWait: 1 })
    abort.abort()
    await clock.advance('1s')
    await waits
    expect(limiter.stats().waits).toEqual({ waiting: 0, admitted: 4, refused: 1, aborted: 1 })
    expect(decided.filter((allowed) => allowed)).toHaveLength(4)
    expect(decided).toHaveLength(5)
  })
})
