import { afterEach, expect, test } from 'vitest'
import type { Clock } from '../core/clock.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { type Cache, createCache, defineKeys, key } from './index.ts'
import { resolveOptions } from './options.ts'
import { HeldLink } from './simulation/held-link.ts'
import { TwoLevelCache } from './two-level-cache.ts'

const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s', jitter: 0 }) })
const xlm = keys.price('XLM')
const open: { close(): Promise<unknown> }[] = []
afterEach(() => Promise.all(open.splice(0).map((each) => each.close())))

/** The clock of a machine whose monotonic clock stands still while it is suspended. */
const machine = () => {
  const times = { wall: Date.UTC(2026, 0, 1), monotonic: 5000 }
  const clock: Clock = systemClock({ wall: () => times.wall, monotonic: () => times.monotonic })
  const pass = (ms: number): void => {
    times.wall += ms
    times.monotonic += ms
  }
  const suspend = (ms: number): void => {
    times.wall += ms
  }
  return { clock, pass, suspend }
}

test('a machine that wakes returns nothing as fresh that was proven before it was suspended', async () => {
  const { clock, pass, suspend } = machine()
  const link = new HeldLink(() => clock.now())
  const cache: TwoLevelCache & Cache = new TwoLevelCache(resolveOptions({ clock }), link)
  open.push(cache)
  await cache.ready()
  await cache.getOrFetch(xlm, () => 'old')
  pass(10)
  expect(await cache.lookup(xlm, () => 'new')).toMatchObject({ value: 'old', stale: false })
  suspend(9000)
  // The network comes back later than the machine.
  link.fails = true
  for (let i = 0; i < 5; i++) {
    expect(await cache.lookup(xlm, () => 'new')).toMatchObject({ value: 'old', stale: true })
    pass(100)
  }
})

test('a machine that wakes and waits for a proof does not return what the proof says is invalid', async () => {
  const { clock, pass, suspend } = machine()
  const link = new HeldLink(() => clock.now())
  const cache: TwoLevelCache & Cache = new TwoLevelCache(resolveOptions({ clock }), link)
  open.push(cache)
  await cache.ready()
  await cache.getOrFetch(xlm, () => 'old')
  pass(10)
  suspend(9000)
  // Another process invalidated it meanwhile, and Redis says so at once.
  await link.invalidate([xlm.scope])
  expect(await cache.lookup(xlm, () => 'new')).toMatchObject({ value: 'new', stale: false, from: 'fetch' })
})

test('a value that expired while the machine was suspended is fetched again, also without Redis', async () => {
  const { clock, pass, suspend } = machine()
  const cache = await createCache({ clock })
  open.push(cache)
  await cache.getOrFetch(xlm, () => 'old')
  pass(10)
  suspend(61_000)
  expect(await cache.lookup(xlm, () => 'new')).toMatchObject({ value: 'new', stale: false })
})
