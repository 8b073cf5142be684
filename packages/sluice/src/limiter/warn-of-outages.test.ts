import { afterEach, expect, test, vi } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createLimiter } from './create-limiter.ts'

afterEach(() => vi.restoreAllMocks())

async function opened() {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const clock = virtualClock()
  const store = switchedStore(memoryStore({ clock }))
  const rules = [
    { name: 'api', limits: { rpm: 10 } },
    { name: 'login', limits: { rpm: 10 }, onStoreFailure: 'closed' as const },
  ]
  const limiter = await createLimiter({ policy: { service: 'shop', rules }, store, clock })
  const take = () => limiter.take('k', { rule: 'api' })
  return { clock, store, limiter, take, warned: () => warn.mock.calls as unknown[][] }
}

test('an outage is told once, and its end once', async () => {
  const { clock, store, limiter, take, warned } = await opened()
  for (let outage = 1; outage <= 2; outage++) {
    store.failing = 'refused'
    for (let i = 0; i < 20; i++) expect(await take()).toMatchObject({ allowed: true, degraded: true })
    expect(warned()).toHaveLength(2 * outage - 1)
    expect(warned().at(-1)).toEqual([
      expect.stringMatching(/shop.*refused.*let everything pass: api\..*deny everything: login\./),
      { type: 'SluiceWarning', code: 'SLUICE_STORE_AWAY' },
    ])
    store.failing = undefined
    await clock.advance('1s')
    expect(await take()).toMatchObject({ degraded: false })
    expect(warned()).toHaveLength(2 * outage)
    expect(warned().at(-1)![1]).toMatchObject({ code: 'SLUICE_STORE_BACK' })
  }
  await limiter.close()
})

test('neither a listener nor a single late answer is told', async () => {
  const { store, limiter, take, warned } = await opened()
  store.failing = 'timeout'
  await take()
  store.failing = undefined
  await take()
  const stop = limiter.on('storeFailed', () => {})
  store.failing = 'refused'
  for (let i = 0; i < 20; i++) await take()
  expect(warned()).toEqual([])
  stop()
  await limiter.close()
})
