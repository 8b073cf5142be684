import { expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createLimiter } from '../create-limiter.ts'

const delay = { after: 2, each: '200ms', max: '500ms' }
const request = { method: 'GET', path: '/', headers: {}, ip: '192.0.2.1' }

async function limiterOf(limits: object = { rpm: 6 }, options = {}) {
  const clock = virtualClock()
  const rules = [{ name: 'r', key: 'ip', limits, delay }]
  const limiter = await createLimiter({
    policy: { service: 's', rules },
    store: memoryStore({ clock }),
    clock,
    ...options,
  })
  const tookMs = async (work: () => Promise<unknown>): Promise<number> => {
    const startMs = clock.monotonic()
    let endMs: number | undefined
    const done = work().then(() => {
      endMs = clock.monotonic()
    })
    while (endMs === undefined) await clock.advance(50)
    await done
    return endMs - startMs
  }
  return { clock, limiter, tookMs }
}

it.each(['wait', 'admit', 'reserve'] as const)(
  '%s slows down what is beyond the first, and then denies',
  async (method) => {
    const { limiter, tookMs } = await limiterOf()
    const took: number[] = []
    for (let i = 0; i < 6; i++) took.push(await tookMs(() => limiter[method](request)))
    expect(took.map((ms) => Math.floor(ms / 100) * 100)).toEqual([0, 0, 200, 400, 500, 500])
    expect((await limiter.take('192.0.2.1')).reason).toBe('quota')
  },
)

it.each(['wait', 'reserve', 'acquire', 'admit'] as const)(
  '%s slows down what comes at once like what comes one after the other',
  async (method) => {
    const limits =
      method === 'admit'
        ? [
            { amount: 6, per: '1m' },
            { amount: 99, algorithm: 'concurrency' },
          ]
        : { rpm: 6 }
    const { clock, limiter } = await limiterOf(limits)
    const took: number[] = []
    const all = Array.from({ length: 6 }, async () => {
      await limiter[method](request)
      took.push(Math.floor(clock.monotonic() / 100) * 100)
    })
    while (took.length < 6) await clock.advance(50)
    await Promise.all(all)
    const [first] = took as [number]
    expect(took.map((ms) => ms - first)).toEqual([0, 0, 200, 400, 500, 500])
    expect((await limiter.take('192.0.2.1')).reason).toBe('quota')
  },
)

it('leaves take and check alone', async () => {
  const { limiter } = await limiterOf()
  for (let i = 0; i < 6; i++) expect((await limiter.check(request)).allowed).toBe(true)
})

it('takes no permit while it delays', async () => {
  const limits = [
    { amount: 20, per: '1m' },
    { amount: 3, algorithm: 'concurrency' },
  ]
  const { clock, limiter } = await limiterOf(limits)
  for (let i = 0; i < 2; i++) await (await limiter.admit(request)).hold?.release()
  const held = async () => (await limiter.inspect('192.0.2.1')).holds.length
  const admitted = limiter.admit(request)
  await clock.advance(100)
  expect(await held()).toBe(0)
  await clock.advance(200)
  const { decision, hold } = await admitted
  expect([decision.allowed, await held()]).toEqual([true, 1])
  await hold?.release()
})

it('ends with its signal, and delays no more than maxWaiting at once', async () => {
  const { clock, limiter, tookMs } = await limiterOf({ rpm: 60 }, { maxWaiting: 2 })
  for (let i = 0; i < 2; i++) await limiter.take('192.0.2.1')
  const leaving = new AbortController()
  const left = limiter.wait(request, { signal: leaving.signal })
  const other = limiter.wait(request)
  await clock.advance(10)
  expect(await tookMs(() => limiter.admit(request))).toBeLessThan(100)
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  await clock.advance(500)
  expect((await other).allowed).toBe(true)
})

it.each([
  [{ after: 2, each: 'soon' }, 'each'],
  [{ after: 2, each: '1s', max: '1h' }, 'max'],
])('refuses %j, naming %s', async (wrong, field) => {
  const policy = { service: 's', rules: [{ name: 'r', limits: { rpm: 5 }, delay: wrong }] }
  await expect(createLimiter({ policy })).rejects.toThrow(`rules[0].delay.${field}`)
})

it('is refused where the limit denies before anything would be slowed down', async () => {
  const made = (after: number, more: object = {}) =>
    createLimiter({
      policy: {
        service: 's',
        rules: [{ name: 'r', key: 'ip', limits: { rpm: 6 }, delay: { ...delay, after }, ...more }],
      },
    })
  for (const after of [6, 7])
    await expect(made(after)).rejects.toThrow(`rules[0].delay.after is ${after}; use less than the first limit, 6`)
  const larger = { overrides: [{ key: '192.0.2.1', limits: { rpm: 60 } }] }
  for (const limiter of [await made(5), await made(7, larger)]) await limiter.close()
})
