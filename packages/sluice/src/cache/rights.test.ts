import { readFile } from 'node:fs/promises'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createLimiter } from '../limiter/create-limiter.ts'
import { createPresence } from '../presence/index.ts'
import type { RedisHandle } from '../redis/handle.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createCache } from './index.ts'

let server: RedisServer
const open: { close(): unknown }[] = []
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

/** A handle of an account with all rights but some. */
const without = async (...rights: string[]): Promise<RedisHandle> => {
  const username = `user${Math.random()}`.replace('.', '')
  const all = ['on', '>secret', '+@all', '~sluice:*', '~{sluice:*', '&sluice:*']
  await server.cli('ACL', 'SETUSER', username, 'reset', ...all, ...rights)
  const client = new Redis(server.port, { username, password: 'secret', maxRetriesPerRequest: 1 })
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  return openRedis(client, { reports: false })
}

test.each([
  ['a command', ['-info'], '(INFO)'],
  ['the keys of a log', ['resetkeys', '~sluice:*'], 'key'],
  ['channels', ['resetchannels'], 'channel'],
])('health of a cache names the right to %s that is missing', async (_, rights, named) => {
  const cache = await createCache({ redis: await without(...rights), redisDeadline: '2s' })
  open.push(cache)
  await waitFor(async () => {
    await cache.invalidate('x')
    return cache.stats().redis === 'down'
  })
  const { ready, reasons } = await cache.health()
  expect(ready).toBe(false)
  expect(reasons).toEqual([expect.stringContaining('Redis refuses this account')])
  expect(reasons[0]).toContain(named)
  expect(reasons[0]).toContain('~{sluice:*')
})

test('so does that of presence', async () => {
  const presence = await createPresence({ redis: await without('-zadd'), redisDeadline: '2s' })
  open.push(presence)
  const { ready, reasons } = await presence.health()
  expect(ready).toBe(false)
  expect(reasons[0]).toContain('(ZADD)')
})

test('a right to subscribe that is missing is named until the account has it', async () => {
  const redis = await without('-subscribe')
  const cache = await createCache({ redis, redisDeadline: '2s' })
  const presence = await createPresence({ redis, redisDeadline: '2s' })
  open.push(cache, presence)
  let heard = 0
  presence.subscribe('c', () => heard++)
  await waitFor(async () => !(await presence.health()).ready)
  expect((await presence.health()).reasons).toEqual([expect.stringContaining("'subscribe'")])
  // A cache finds with its next proof what it was not sent.
  expect(await cache.health()).toEqual({ ready: true, reasons: [], warnings: [expect.stringContaining("'subscribe'")] })
  const users = await server.cli<string[]>('ACL', 'USERS')
  for (const user of users.filter((name) => name.startsWith('user')))
    await server.cli('ACL', 'SETUSER', user, '+subscribe')
  await waitFor(async () => (await presence.health()).ready)
  await presence.publish('c', 1)
  await waitFor(() => heard === 1)
  expect((await cache.health()).warnings).toEqual([])
})

test('so does that of a limiter, whose decisions fail', async () => {
  const limiter = await createLimiter({ limits: { rpm: 5 }, redis: await without('-evalsha') })
  open.push(limiter)
  await waitFor(async () => (await limiter.take('k')).failure === 'auth')
  const { ready, reasons } = await limiter.health()
  expect(ready).toBe(false)
  expect(reasons[0]).toContain("'evalsha'")
})

test('a right that only health needs is a warning', async () => {
  const limiter = await createLimiter({ limits: { rpm: 5 }, redis: await without('-info') })
  open.push(limiter)
  await waitFor(async () => !(await limiter.take('k')).degraded)
  expect(await limiter.health()).toMatchObject({ ready: true, warnings: [expect.stringContaining("'info'")] })
})

test('the account of docs/redis.md is enough for cache and presence', async () => {
  const docs = await readFile(new URL('../../../../docs/redis.md', import.meta.url), 'utf8')
  const rights = /^ACL SETUSER shop on >secret (.*)$/m.exec(docs)![1]!.split(' ')
  const redis = await without('reset', 'on', '>secret', ...rights)
  const cache = await createCache({ redis, redisDeadline: '2s' })
  const presence = await createPresence({ redis, redisDeadline: '2s' })
  open.push(cache, presence)
  await cache.getOrFetch('x', () => 1, { ttl: '1m' })
  await cache.getMany(Array.from({ length: 20 }, (_, i) => `many${i}`))
  expect(await cache.invalidate('x', { mode: 'strict' })).toEqual({ sent: true })
  let heard = 0
  presence.subscribe('c', () => heard++)
  const membership = await presence.join('c', 'ann')
  expect(await presence.list('c')).toHaveLength(1)
  await waitFor(async () => {
    await presence.publish('c', 1)
    return heard > 0
  })
  membership.leave()
  for (const part of [cache, presence]) expect(await part.health()).toMatchObject({ ready: true, reasons: [] })
})
