import { Redis as Ioredis } from 'ioredis'
import { Redis as Ioredis5 } from 'ioredis5'
import { createClient } from 'redis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Clock } from '../core/clock.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import type { RedisClient } from './client.ts'
import { namespaceOf } from './namespaces.ts'
import { nodeFacts } from './scripts.gen.ts'
import { sharedRedis } from './testing/shared-redis.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
beforeEach(async () => {
  server.thaw()
  if (!server.running) await server.restart()
})
afterAll(() => server?.stop())

const clients: Readonly<Record<string, () => RedisClient>> = {
  ioredis: () => new Ioredis({ port: server.port, lazyConnect: true }),
  'node-redis': () => createClient({ socket: { port: server.port, host: '127.0.0.1' } }),
}
/** Waits of seconds take a quarter of that. */
const clock = systemClock()
const fourTimesAsFast: Clock = {
  ...clock,
  monotonic: () => clock.monotonic() * 4,
  setTimeout: (callback, ms) => clock.setTimeout(callback, ms / 4),
}
/** One of them is the connection that counts. */
const sockets = async (): Promise<number> => Number((await server.info('clients')).connected_clients) - 1

describe.each(Object.entries(clients))('the sockets of a handle with %s', (_, client) => {
  test('a command with an unknown option is refused', async () => {
    const redis = sharedRedis(client())
    const mistyped = { withinMS: 5 } as never
    await expect(redis.command(['PING'], mistyped)).rejects.toThrow('did you mean "withinMs"?')
    await redis.close()
  })

  test('health that is the first question waits for the connection', async () => {
    const redis = sharedRedis(client())
    expect(await redis.health(5000)).toMatchObject({ reachable: true })
    await redis.close()
  })

  test('opens no socket before one is needed, three at most, and closes them after the last user', async () => {
    await waitFor(async () => (await sockets()) === 0)
    const redis = sharedRedis(client())
    expect(await sockets()).toBe(0)
    for (let i = 0; i < 3; i++) await redis.command(['SET', `k${i}`, 'v'])
    expect(await sockets()).toBe(1)
    await redis.command(['GET', 'k1'], { lane: 'values' })
    expect(await sockets()).toBe(2)
    const stops = ['a', 'b'].map((channel) => redis.subscribe(channel, { message: () => {} }))
    await waitFor(async () => (await sockets()) === 3)
    const release = redis.use()
    await redis.runScript({ script: nodeFacts, keys: ['k'], withinMs: 1000 })
    expect(await sockets()).toBe(3)
    for (const stop of stops) stop()
    await waitFor(async () => (await sockets()) === 2)
    await release()
    await release()
    await waitFor(async () => (await sockets()) === 0)
    expect(await redis.command(['PING']), 'it opens them again').toBe('PONG')
    await redis.close()
    await redis.close()
    await waitFor(async () => (await sockets()) === 0)
  })

  test('is closed when its opener closed it and no part uses it any more', async () => {
    const redis = sharedRedis(client())
    const release = redis.use()
    await redis.close()
    expect(await redis.command(['PING'])).toBe('PONG')
    expect(() => redis.use()).toThrow(/closed/)
    await release()
    await expect(redis.command(['PING'])).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  })

  test('runs scripts by the server clock, and none after its deadline', async () => {
    const redis = sharedRedis(client())
    const { reply, nowUs } = await redis.runScript({ script: nodeFacts, keys: ['k'], withinMs: 1000 })
    expect(reply.read()).toBe((await server.info('server')).run_id)
    expect(Math.abs(nowUs / 1000 - Date.now())).toBeLessThan(5000)
    await server.freeze()
    await expect(redis.runScript({ script: nodeFacts, keys: ['k'], withinMs: 50 })).rejects.toMatchObject({
      kind: 'timeout',
    })
    await expect(redis.command(['PING'], { withinMs: 50 })).rejects.toMatchObject({ kind: 'timeout' })
    server.thaw()
    await redis.close()
  })

  test('sends and receives bytes as they are, and maps as flat lists', async () => {
    const redis = sharedRedis(client())
    const bytes = Buffer.from([0, 255, 10, 13, 200])
    await redis.command(['HSET', 'h', 'f', bytes, 'g', 'text'])
    expect(await redis.command(['HGET', 'h', 'f'], { bytes: true })).toEqual(bytes)
    expect(await redis.command(['HGETALL', 'h'], { key: 'h' })).toHaveLength(4)
    await expect(redis.command(['LPUSH', 'h', 'x'])).rejects.toMatchObject({ kind: 'wrongtype' })
    await redis.close()
  })

  test('subscribers hear messages, and learn when some may have been lost', async () => {
    const redis = sharedRedis(client())
    const heard: string[] = []
    const log = (name: string) => ({
      message: (text: string) => heard.push(`${name} ${text}`),
      ready: () => heard.push(`${name} ready`),
      lost: () => heard.push(`${name} lost`),
    })
    const stop = redis.subscribe('news', log('first'))
    await waitFor(() => heard.includes('first ready'))
    redis.subscribe('news', log('second'))
    redis.subscribe('other', log('third'))
    await waitFor(() => heard.includes('second ready') && heard.includes('third ready'))
    expect(await redis.publish('news', 'one')).toBe(1)
    await waitFor(() => heard.includes('first one') && heard.includes('second one'))
    stop()
    stop()
    await server.kill()
    await waitFor(() => heard.includes('second lost') && heard.includes('third lost'))
    expect(heard).not.toContain('first lost')
    heard.length = 0
    await server.restart()
    await waitFor(() => heard.includes('second ready') && heard.includes('third ready'))
    await waitFor(async () => (await redis.publish('news', 'two').catch(() => 0)) > 0)
    await waitFor(() => heard.includes('second two'))
    expect(heard).not.toContain('first two')
    await redis.close()
  })

  test('a subscription on a frozen server is noticed as lost', async () => {
    const redis = sharedRedis(client(), { clock: fourTimesAsFast })
    const heard: string[] = []
    redis.subscribe('news', {
      message: () => {},
      ready: () => heard.push('ready'),
      lost: () => heard.push('lost'),
    })
    await waitFor(() => heard.includes('ready'))
    await server.freeze()
    await waitFor(() => heard.includes('lost'), { timeoutMs: 15_000 })
    server.thaw()
    await waitFor(() => heard.at(-1) === 'ready', { timeoutMs: 15_000 })
    await redis.close()
  })

  test('closing at any moment while connecting leaves no socket behind', async () => {
    for (let i = 0; i < 20; i++) {
      const redis = sharedRedis(client())
      redis.command(['PING']).catch(() => {})
      redis.subscribe('news', { message: () => {} })
      if (i % 2 === 1) await new Promise((resolve) => setImmediate(resolve))
      if (i % 3 === 1) await new Promise((resolve) => setTimeout(resolve, 1))
      await redis.close()
    }
    await waitFor(async () => (await sockets()) === 0)
  })
})

test('the keys of a part cannot be those of a service', () => {
  expect(namespaceOf('cache', '#presence', 'sluice:')).toBe('sluice:#cache/%0023presence/')
  expect(namespaceOf('presence', 'shop', 'x:')).toBe('x:#presence/shop/')
})

const inDatabase: Readonly<Record<string, (db: number, user?: string) => RedisClient>> = {
  ioredis: (db, username) => new Ioredis({ port: server.port, lazyConnect: true, db, ...login(username) }),
  'ioredis 5, which is ready at once': (db, username) =>
    new Ioredis5({
      port: server.port,
      lazyConnect: true,
      enableReadyCheck: false,
      disableClientInfo: true,
      db,
      ...login(username),
    }) as unknown as RedisClient,
  'node-redis': (database, username) =>
    createClient({ socket: { port: server.port, host: '127.0.0.1' }, database, ...login(username) }),
}
const login = (username: string | undefined) => (username === undefined ? {} : { username, password: 'pw' })

describe.each(Object.entries(inDatabase))('a database of %s', (_, client) => {
  test('that does not exist is an error, and not database 0', async () => {
    const redis = sharedRedis(client(99))
    const message = expect.stringContaining('DB index is out of range')
    for (let i = 0; i < 3; i++)
      await expect(redis.command(['SET', 'stray', '1'])).rejects.toMatchObject({ kind: 'auth', message })
    expect(await server.cli('EXISTS', 'stray')).toBe(0)
    await redis.close()
  })

  test('that the user may not select is an error, and not database 0', async () => {
    await server.cli('ACL', 'SETUSER', 'bob', 'on', '>pw', '~*', '&*', '+@all', '-select')
    const redis = sharedRedis(client(1, 'bob'))
    for (let i = 0; i < 3; i++)
      await expect(redis.command(['SET', 'stray', '1'])).rejects.toMatchObject({ kind: 'auth' })
    expect(await server.cli('EXISTS', 'stray')).toBe(0)
    await server.cli('ACL', 'SETUSER', 'bob', '+select')
    await redis.ready(5000)
    await redis.command(['SET', 'stray', '1'])
    expect(await server.cli('EXISTS', 'stray')).toBe(0)
    await redis.close()
  })
})
