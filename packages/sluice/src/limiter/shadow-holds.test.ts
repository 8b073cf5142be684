import { describe, expect, it, vi } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { createLimiter } from './create-limiter.ts'
import type { HoldHandle, Limiter } from './limiter.ts'

const concurrency = { amount: 5, algorithm: 'concurrency' } as const
const upload = { key: 'const:all', match: { path: '/upload' } }
const request = { method: 'GET', path: '/upload', headers: {} }
const watched = { ...upload, name: 'watched', limits: concurrency, mode: 'shadow' } as const

it('a shadow rule never makes a hold reject, when the store goes away before it is ended', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await createLimiter({ policy: { service: 's', rules: [watched] }, store, replicas: 1 })
  const admitted = await Promise.all([1, 2, 3, 4].map(() => limiter.admit(request)))
  expect((await limiter.inspect('all', { rule: 'watched' })).holds).toHaveLength(4)
  store.failing = 'connection'
  const [a, b, c, d] = admitted.map(({ hold }) => hold!)
  expect(await Promise.all([a!.release(), b!.cancel(), c!.settle(1), d!.extend()])).toEqual([
    false,
    false,
    false,
    false,
  ])
  await limiter.close()
})

const tokens = { name: 'tokens', key: 'const:all', limits: { amount: 10, per: '1h' }, mode: 'shadow' } as const
const leftOf = async (limiter: Limiter, rule: string) =>
  (await limiter.inspect('all', { rule })).limits.map(({ remaining }) => remaining)

describe('a shadow rule counts what enforcing it would count', () => {
  it.each([
    ['settle', (hold: HoldHandle) => hold.settle(1), 9],
    ['cancel', (hold: HoldHandle) => hold.cancel(), 10],
    ['release', (hold: HoldHandle) => hold.release(), 6],
  ])('after %s', async (_, end, left) => {
    for (const beside of [[], [{ ...tokens, name: 'enforced', mode: 'enforce' } as const]]) {
      const limiter = await createLimiter({ policy: { service: 's', rules: [tokens, ...beside] } })
      const hold = await limiter.reserve(request, { cost: 4 })
      expect(await leftOf(limiter, 'tokens')).toEqual([6])
      expect(await end(hold)).toBe(true)
      for (const { name } of [tokens, ...beside]) expect(await leftOf(limiter, name)).toEqual([left])
      await limiter.close()
    }
  })

  it('when a hold is settled by its id, as from another process', async () => {
    const slots = { ...watched, key: 'const:all', match: {} }
    const limiter = await createLimiter({ policy: { service: 's', rules: [tokens, slots] } })
    const { id } = await limiter.reserve(request, { cost: 4 })
    expect([await limiter.settle(request, id, 1), await limiter.settle(request, id, 1)]).toEqual([true, false])
    expect([await leftOf(limiter, 'tokens'), await leftOf(limiter, 'watched')]).toEqual([[9], [5]])
    await limiter.close()
  })

  it('when the request is denied by another rule: its units, but no place', async () => {
    const slots = { ...watched, key: 'const:all', match: {} }
    const none = { name: 'none', key: 'const:all', limits: { amount: 0, per: '1h' } }
    const limiter = await createLimiter({ policy: { service: 's', rules: [tokens, slots, none] } })
    expect(await limiter.reserve(request, { cost: 4 })).toMatchObject({ allowed: false })
    await vi.waitFor(async () => expect((await limiter.inspect('all', { rule: 'watched' })).holds).toEqual([]))
    await vi.waitFor(async () => expect((await limiter.inspect('all', { rule: 'tokens' })).holds).toEqual([]))
    expect([await leftOf(limiter, 'tokens'), await leftOf(limiter, 'watched')]).toEqual([[6], [5]])
    await limiter.close()
  })
})

it('an enforced rule beside it still says when it could not be ended, and can be ended later', async () => {
  const store = switchedStore(memoryStore())
  const rules = [{ ...upload, name: 'upload', limits: concurrency }, watched]
  const limiter = await createLimiter({ policy: { service: 's', rules }, store, replicas: 1 })
  const { hold } = await limiter.admit(request)
  store.failing = 'connection'
  await expect(hold!.release()).rejects.toMatchObject({ kind: 'connection' })
  store.failing = undefined
  expect(await hold!.release()).toBe(true)
  for (const rule of ['upload', 'watched']) expect((await limiter.inspect('all', { rule })).holds).toEqual([])
  await limiter.close()
})
