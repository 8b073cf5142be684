import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { createLimiter } from './create-limiter.ts'

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
