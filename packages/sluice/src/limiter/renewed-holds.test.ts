import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createLimiter } from './create-limiter.ts'

async function opened() {
  const clock = virtualClock()
  const store = memoryStore({ clock })
  const limiter = await createLimiter({ limits: { rph: 1000 }, store, clock })
  const left = async () => (await limiter.peek('k')).limits[0]!.remaining
  return { clock, limiter, left }
}

test('a reservation does not expire under a running process', async () => {
  const { clock, limiter, left } = await opened()
  const hold = await limiter.reserve('k', { cost: 400 })
  for (let i = 0; i < 10; i++) {
    await clock.advance('31s')
    expect(await left()).toBe(600)
  }
  expect(await hold.settle(350)).toBe(true)
  expect(await left()).toBe(650)
  await clock.advance('31s')
  expect(await left()).toBe(650)
  await limiter.close()
})

test('settling after it has expired charges what was used, once', async () => {
  const { clock, limiter, left } = await opened()
  const hold = await limiter.reserve('k', { cost: 400, renew: false })
  await clock.advance('31s')
  expect(await left()).toBe(1000)
  expect(await hold.settle(350)).toBe(true)
  expect(await hold.settle(350)).toBe(false)
  expect(await left()).toBe(650)
  const given = await limiter.reserve('k', { cost: 400, renew: false })
  await clock.advance('31s')
  expect(await given.cancel()).toBe(false)
  expect(await left()).toBe(650)
  await limiter.close()
})

test('what was settled by its id is not charged again by the handle, however late', async () => {
  const { clock, limiter, left } = await opened()
  const hold = await limiter.reserve('k', { cost: 400, id: 'a' })
  expect(await limiter.settle('k', 'a', 100)).toBe(true)
  await clock.advance('2m')
  expect(await hold.settle(350)).toBe(false)
  expect(await left()).toBe(900)
  await limiter.close()
})

test('a handle that nobody has any more is not renewed', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { clock, limiter, left } = await opened()
  await limiter.reserve('k', { cost: 400 })
  await waitFor(
    async () => {
      collect()
      await clock.advance('31s')
      return (await left()) === 1000
    },
    { describe: 'the forgotten reservation to expire' },
  )
  await limiter.close()
})

test.each([
  ['a permit that could not be released', 'acquire', 'release'],
  ['a reservation that could not be cancelled', 'reserve', 'cancel'],
] as const)('%s expires, also while somebody has its handle', async (_, take, end) => {
  const clock = virtualClock()
  const store = switchedStore(memoryStore({ clock }))
  const limits = { amount: 1, algorithm: 'concurrency' } as const
  const limiter = await createLimiter({ limits, store, clock })
  const hold = await limiter[take]('k')
  store.failing = 'timeout'
  await expect(hold[end]()).rejects.toMatchObject({ transient: true })
  store.failing = undefined
  await clock.advance('2m')
  expect((await limiter.acquire('k')).allowed).toBe(true)
  expect(hold.allowed).toBe(true)
  await limiter.close()
})

test.each(['settle', 'cancel', 'release', 'extend'] as const)(
  'a hold is renewed while somebody has no more of it than its %s',
  async (name) => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const { clock, limiter, left } = await opened()
    const { [name]: kept } = await limiter.reserve('k', { cost: 400 })
    await limiter.reserve('k', { cost: 100 })
    await waitFor(
      async () => {
        collect()
        await clock.advance('31s')
        // The one of which nobody has anything has expired.
        return (await left()) === 600
      },
      { describe: 'only the forgotten reservation to expire' },
    )
    await clock.advance('31s')
    expect(await left()).toBe(600)
    expect(await kept(400)).toBe(true)
    await limiter.close()
  },
)
