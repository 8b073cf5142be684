import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import type { LimitsSpec } from '../policy/document/document.ts'
import type { RequestView } from '../policy/request-view.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { type VirtualClock, virtualClock } from '../testing/virtual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import { type LimiterEvents, limiterEventNames } from './events.ts'
import type { HoldHandle, Limiter } from './limiter.ts'

const limits: readonly LimitsSpec[] = [
  { rps: 2 },
  [{ rps: 3 }, { rpm: 4 }],
  { amount: 3, per: '2s', algorithm: 'gcra', burst: 2 },
  { rpm: 3, algorithm: 'sliding-log' },
  [
    { rpm: 3, algorithm: 'sliding-window' },
    { amount: 5, per: 'day', zone: 'Europe/Berlin' },
  ],
  [{ rpm: 9 }, { amount: 2, algorithm: 'concurrency' }],
]

/** A limiter of the limits alone, or of a document that says the same. */
async function limiterOf(spec: LimitsSpec, isDocument: boolean, clock: VirtualClock): Promise<Limiter> {
  const common = { store: memoryStore({ maxSubjects: 3, clock }), maxWaiting: 3, clock }
  if (!isDocument) return createLimiter({ ...common, limits: spec, service: 'shop' })
  return createLimiter({
    ...common,
    policy: { service: 'shop', rules: [{ name: 'default', key: 'ip', limits: spec }] },
  })
}

type Call = (limiter: Limiter, holds: HoldHandle[], key: string) => unknown

const view = (ip: unknown): RequestView => ({ method: 'GET', path: '/a', headers: {}, ip }) as never
const kept = async (holds: HoldHandle[], made: Promise<HoldHandle | undefined>): Promise<unknown> => {
  const hold = await made
  if (hold !== undefined) holds.push(hold)
  return hold?.decision
}
const admitted = async (holds: HoldHandle[], admission: ReturnType<Limiter['admit']>): Promise<unknown> => {
  const { decision, hold } = await admission
  if (hold !== undefined) holds.push(hold)
  return [decision, hold?.allowed]
}

const calls: readonly Call[] = [
  ...Array.from({ length: 4 }, (): Call => (limiter, _, key) => limiter.take(key)),
  (limiter, _, key) => limiter.take([key, 7], { cost: 2 }),
  (limiter, _, key) => limiter.take(key, { cost: 0 }),
  (limiter, _, key) => limiter.take(key, { cost: 100 }),
  (limiter, _, key) => limiter.check(view(key)),
  (limiter) => limiter.check(view(undefined)),
  (limiter) => limiter.check({ ...view('a'), preflight: true } as never),
  (limiter, _, key) => limiter.check({ ...view(key), method: 'DESCRIPTOR' }, { rule: 'default', cost: 2 }),
  (limiter, holds, key) => admitted(holds, limiter.admit(key)),
  (limiter, holds, key) => admitted(holds, limiter.admit(view(key), { maxWait: '1s' })),
  (limiter, _, key) => limiter.peek(key),
  (limiter, _, key) => limiter.wait(key, { maxWait: '3s' }),
  (limiter, _, key) => limiter.wait(view(key), { maxWait: '100ms', signal: AbortSignal.abort('why') }),
  (limiter, holds, key) => kept(holds, limiter.reserve(key, { id: 'one', ttl: '2s', renew: false })),
  (limiter, holds, key) => kept(holds, limiter.acquire(key, { maxWait: '2s' })),
  (_, holds) => holds.shift()?.settle(2),
  (_, holds) => holds.shift()?.release(),
  (_, holds) => holds.shift()?.cancel(),
  (_, holds) => holds[0]?.extend('5s'),
  (limiter, _, key) => limiter.settle(key, 'one', 1),
  (limiter, _, key) => limiter.refund(key, { cost: 1 }),
  (limiter, _, key) => limiter.reset(key),
  (limiter, _, key) => limiter.block(key, { for: '2s' }),
  (limiter, _, key) => limiter.unblock(key),
  (limiter, _, key) => limiter.inspect(key),
  (limiter, _, key) => limiter.inspect(key, { tier: 'gold' }),
  (limiter, _, key) => limiter.explain(view(key)),
  (limiter) => limiter.explain(view('')),
  (limiter) => limiter.health(),
  (limiter) => limiter.stats(),
  (limiter) => limiter.waiting,
  ({ policy }) => ({ ...policy, status: policy.status }),
  // What is wrong.
  (limiter) => limiter.take(''),
  (limiter) => limiter.take(NaN as never),
  (limiter) => limiter.take({} as never),
  (limiter, _, key) => limiter.take(key, { cost: -1 }),
  (limiter, _, key) => limiter.take(key, { rule: 'other' as never }),
  (limiter, _, key) => limiter.take(key, { costs: 1 } as never),
  (limiter, _, key) => limiter.block(key, { for: '0s' }),
  (limiter, _, key) => limiter.wait(key, { maxWait: -1 }),
  (limiter, _, key) => limiter.reserve(key, { ttl: 'soon' as never }),
  (limiter, _, key) => limiter.refund(key, { takenAt: -1 }),
  (limiter, _, key) => limiter.settle(key, '', 1),
  (limiter, _, key) => limiter.inspect(key, { rule: 'other' as never }),
]

interface Step {
  readonly call: number
  readonly key: string
  readonly ms: number
}

/** What a caller and a listener see of the calls, one after the other, each with what came of it. */
async function seen(isDocument: boolean, spec: LimitsSpec, steps: readonly Step[], isWatched: boolean) {
  const clock = virtualClock()
  const limiter = await limiterOf(spec, isDocument, clock)
  const events: unknown[] = []
  if (isWatched) for (const name of names) limiter.on(name, (event) => events.push([name, plain(event)]))
  const holds: HoldHandle[] = []
  const outcomes: Promise<unknown>[] = []
  const call = async (made: () => unknown): Promise<unknown> => {
    try {
      return [clock.now(), plain(await made())]
    } catch (error) {
      const { name, message, code } = error as Error & { code?: string }
      return error instanceof Error ? { name, message, code } : error
    }
  }
  for (const { call: index, key, ms } of steps) {
    outcomes.push(call(() => calls[index]!(limiter, holds, key)))
    await clock.advance(ms)
  }
  const closed = call(() => limiter.close())
  outcomes.push(closed, ...calls.slice(4).map((each) => call(() => each(limiter, holds, 'a'))))
  await clock.advance('1m')
  return { outcomes: await Promise.all(outcomes), events }
}

const names = Object.keys(limiterEventNames) as (keyof LimiterEvents)[]

/** Getters of events are looked at, errors are told by their words, and random ids are all alike. */
function plain(value: unknown): unknown {
  if (value instanceof Error) return [value.name, value.message]
  if (value instanceof Map) return [...value]
  if (typeof value === 'string') return value.replace(/^[\da-f]{8}-[\da-f-]{27}$/, 'an id')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  const { rules, subjects, cost } = value as { rules?: unknown; subjects?: unknown; cost?: unknown }
  const all = { ...value, rules, subjects, cost }
  return Object.fromEntries(Object.entries(all).map(([name, field]) => [name, plain(field)]))
}

it('plain limits do what the same limits in a document do, whatever is called', { timeout: 120_000 }, async () => {
  const step = fc.record({
    call: fc.nat(calls.length - 1),
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    ms: fc.constantFrom(0, 0, 1, 400, 1000),
  })
  const histories = fc.asyncProperty(
    fc.constantFrom(...limits),
    fc.array(step, { minLength: 1, maxLength: 60 }),
    fc.boolean(),
    async (spec, steps, isWatched) => {
      expect(await seen(false, spec, steps, isWatched)).toEqual(await seen(true, spec, steps, isWatched))
    },
  )
  await fc.assert(histories, { numRuns: 150 })
})

it('the first calls of a limiter are decided in their order, and before it closes', async () => {
  const store = memoryStore()
  const limiter = await createLimiter({ limits: { rpm: 5 }, store })
  const made = [
    limiter.block('a', { for: '1m' }),
    limiter.peek('c'),
    limiter.reserve('b', { id: 'one', cost: 4 }).then(({ allowed }) => allowed),
    limiter.settle('b', 'one', 5),
    limiter.peek('b'),
    limiter.inspect('c'),
    limiter.health(),
  ] as const
  const waiting = limiter.wait('b')
  await Promise.all([limiter.close(), limiter.close()])
  const [blocked, peeked, reserved, settled, spent, inspected, health] = await Promise.all(made)
  expect([blocked, reserved, settled]).toEqual([undefined, true, true])
  expect(peeked.allowed).toBe(true)
  expect(spent.limits[0]!.remaining).toBe(0)
  expect(inspected.limits[0]!.remaining).toBe(5)
  expect(health.ready).toBe(true)
  await expect(waiting).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  for (const call of [limiter.take('a'), limiter.peek('a'), limiter.wait('a')])
    await expect(call).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  expect(await limiter.health()).toMatchObject({ ready: false, reasons: ['The limiter is closed.'] })
  await store.close()
})

it('waits that are the first calls have their turns in order, with a clock that is moved at once', async () => {
  const clock = virtualClock()
  const limiter = await createLimiter({ limits: { rps: 1 }, clock })
  await limiter.take('a')
  const turns: string[] = []
  const enter = (name: string, maxWait: '5s' | '500ms'): Promise<unknown> =>
    limiter.wait('a', { maxWait }).then(({ allowed }) => turns.push(`${name} ${allowed}`))
  const waits = [enter('first', '5s'), enter('second', '5s'), enter('third', '500ms')]
  await clock.advance(0)
  expect([limiter.waiting, turns]).toEqual([3, []])
  await clock.advance('1s')
  expect(turns).toEqual(['third false', 'first true'])
  await clock.advance('1s')
  await Promise.all(waits)
  expect(turns).toEqual(['third false', 'first true', 'second true'])
  await limiter.close()
})

it('loads what further calls need again where that has failed', async () => {
  vi.resetModules()
  vi.doMock('./further-calls.ts', () => {
    throw new Error('the file is not there yet')
  })
  try {
    const fresh = await import('./create-limiter.ts')
    const limiter = await fresh.createLimiter({ limits: { rpm: 1 } })
    await expect(limiter.reserve('k')).rejects.toThrow()
    vi.doUnmock('./further-calls.ts')
    expect(await limiter.reserve('k')).toMatchObject({ decision: { allowed: true } })
    await limiter.close()
  } finally {
    vi.doUnmock('./further-calls.ts')
  }
})
