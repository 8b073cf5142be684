import { expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { switchedStore } from '../../testing/faulty-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createLimiter } from '../create-limiter.ts'

const policy = {
  service: 'llm',
  rules: [
    {
      name: 'tokens',
      key: 'headers.x-team',
      limits: { rpm: 10 },
      shares: { by: 'context.class', of: { prod: '70%', dev: '30%' }, default: 'dev' },
      onStoreFailure: 'local',
    },
  ],
} as const

async function shared() {
  const clock = virtualClock()
  const store = switchedStore(memoryStore({ clock }))
  const limiter = await createLimiter({ policy, store, clock, replicas: 2, breaker: { failures: 1_000_000 } })
  return { limiter, clock, store }
}

const request = (of?: string) => ({
  ...{ method: 'POST', path: '/', headers: { 'x-team': 'red' } },
  ...(of === undefined ? {} : { context: { class: of } }),
})

/** How many of many pass. */
async function passing(take: () => Promise<{ readonly allowed: boolean }>, times = 20): Promise<number> {
  let passed = 0
  for (let i = 0; i < times; i++) if ((await take()).allowed) passed += 1
  return passed
}

it('a request counts for the class that it names, and for the default one otherwise', async () => {
  const { limiter, clock } = await shared()
  expect(await passing(() => limiter.check(request()))).toBe(10)
  expect(await passing(() => limiter.check(request('prod')))).toBe(0)
  await clock.advance('1m')
  expect(await passing(() => limiter.check(request('intern')))).toBe(3)
  expect(await passing(() => limiter.check(request('prod')))).toBe(7)
})

it('take names the class, where there is no request', async () => {
  const { limiter, clock } = await shared()
  await passing(() => limiter.take('red'))
  expect((await limiter.take('red', { class: 'prod' })).allowed).toBe(false)
  await clock.advance('1m')
  expect(await passing(() => limiter.take('red', { class: 'dev' }))).toBe(3)
  const hold = await limiter.reserve('red', { class: 'prod', cost: 7 })
  expect(hold.allowed).toBe(true)
  await hold.settle(2)
  expect(await passing(() => limiter.take('red', { class: 'prod' }))).toBe(5)
})

it('inspect shows what every class has, and explain which class a request is of', async () => {
  const { limiter } = await shared()
  await passing(() => limiter.check(request('prod')), 4)
  await limiter.check(request())
  const { limits } = await limiter.inspect('red')
  expect(limits.map(({ name, amount, remaining, share }) => ({ name, amount, remaining, share }))).toEqual([
    { name: 'rpm', amount: 10, remaining: 5, share: undefined },
    { name: 'rpm-prod', amount: 10, remaining: 5, share: { class: 'prod', guaranteed: 7, spent: 4 } },
    { name: 'rpm-dev', amount: 10, remaining: 5, share: { class: 'dev', guaranteed: 3, spent: 1 } },
  ])
  const { rules } = await limiter.explain(request('prod'))
  expect(rules[0]!.why).toBe('applies to every request, key from headers.x-team, class prod, which is guaranteed 7')
  expect(rules[0]!.limits[1]).toMatchObject({ name: 'rpm-prod', share: { spent: 4 } })
})

it('who waits for one class does not wait behind another', async () => {
  const { limiter, clock } = await shared()
  await passing(() => limiter.take('red'))
  const passed: string[] = []
  for (let i = 0; i < 8; i++) void limiter.wait('red', { class: 'dev' }).then(() => passed.push('dev'))
  for (let i = 0; i < 3; i++) void limiter.wait('red', { class: 'prod' }).then(() => passed.push('prod'))
  await clock.advance(0)
  expect(passed).toEqual([])
  await clock.advance('1m')
  expect(passed.filter((name) => name === 'prod')).toHaveLength(3)
  await clock.advance('5m')
  expect(passed).toHaveLength(11)
  await limiter.close()
})

it('without the store, each replica holds its part of every share', async () => {
  const { limiter, clock, store } = await shared()
  store.failing = 'refused'
  expect(await passing(() => limiter.check(request()))).toBe(5)
  expect(await passing(() => limiter.check(request('prod')))).toBe(0)
  await clock.advance('1m')
  expect(await passing(() => limiter.check(request()))).toBe(2)
  expect(await passing(() => limiter.check(request('prod')))).toBe(3)
})
