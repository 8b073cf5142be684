import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { LimiterOptions } from '../../limiter/limiter-options.ts'
import type { RedisClient } from '../../redis/client.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { startTcpProxy } from '../../testing/tcp-proxy.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { openRedis } from './open-redis.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.stop())

interface Login {
  readonly port?: number
  readonly username?: string
  readonly password?: string
}

const clients: Readonly<Record<string, (login: Login) => RedisClient>> = {
  ioredis: (login) => new Redis({ port: redis.port, ...login, lazyConnect: true }),
  'node-redis': ({ port = redis.port, ...login }) => createClient({ socket: { port, host: '127.0.0.1' }, ...login }),
}
const policy = { service: 'replies', rules: [{ name: 'r', limits: { rph: 1000 }, onStoreFailure: 'closed' as const }] }

async function open(client: RedisClient, options: Partial<LimiterOptions> = {}): Promise<Limiter> {
  const limiter = await createLimiter({ policy, redis: openRedis(client), denyCache: false, ...options })
  onTestFinished(() => limiter.close())
  return limiter
}

/** Blocks the event loop, as a long computation does. */
function block(ms: number): void {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

describe.each(Object.entries(clients))('with %s', (_, client) => {
  test('a reply that no script returns is a failure, and is not sent again', async () => {
    const proxy = await startTcpProxy({ targetPort: redis.port })
    onTestFinished(() => proxy.close())
    // On a busy machine a reply can take longer than the usual deadline, and would be a `timeout`.
    const deadlineMs = 10_000
    const limiter = await open(client({ port: proxy.port }), { deadline: deadlineMs })
    const direct = await open(client({}), { deadline: deadlineMs })
    await waitFor(async () => !(await limiter.take('warm')).degraded)
    // The first byte of a script's reply is its status, 0 or 1.
    proxy.dropReplies((chunk) => {
      // The reply to a report of the limiter's own may stand before that of the take, in one chunk.
      for (let at = 0; chunk[at] === 0x24; ) {
        const start = chunk.indexOf('\r\n', at) + 2
        if (chunk[start] === 0) chunk[start] = 7
        at = start + Number(chunk.toString('latin1', at + 1, start - 2)) + 2
      }
      return false
    })
    const before = (await direct.peek('corrupt')).limits[0]!.remaining
    expect(await limiter.take('corrupt')).toMatchObject({ degraded: true, failure: 'other' })
    expect((await direct.peek('corrupt')).limits[0]!.remaining).toBe(before - 1)
  })

  test('a permission that only the script needs is "auth", and opens the breaker', async () => {
    await redis.cli('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@all', '-set')
    const limiter = await open(client({ username: 'reader', password: 'secret' }))
    await waitFor(async () => (await limiter.take('a')).failure === 'auth')
    await waitFor(async () => (await limiter.take('a')).failure === 'breaker')
    await redis.cli('ACL', 'SETUSER', 'reader', '+set')
    await waitFor(async () => !(await limiter.take('a')).degraded)
  })

  test('a server that takes no more clients is "connection", and opens the breaker', async () => {
    const [, most] = await redis.cli<string[]>('CONFIG', 'GET', 'maxclients')
    // Redis accepts no number below that of its clients; those of earlier tests may still be leaving.
    await waitFor(async () => Number((await redis.info('clients')).connected_clients) === 1)
    await redis.cli('CONFIG', 'SET', 'maxclients', 1)
    try {
      const limiter = await open(client({}))
      const seen = new Set<unknown>()
      await waitFor(async () => {
        seen.add((await limiter.take('a')).failure)
        return seen.has('breaker')
      })
      expect(seen).toContain('connection')
      expect(seen).not.toContain('script')
    } finally {
      await redis.cli('CONFIG', 'SET', 'maxclients', most!)
    }
  })

  test('replies that came while the event loop was blocked beyond the deadline still count', async () => {
    const limiter = await open(client({}), { deadline: 500 })
    await waitFor(async () => !(await limiter.take('warm')).degraded)
    const decisions = Array.from({ length: 300 }, (__, i) => limiter.take(`blocked-${i}`))
    // The last of them are sent at the end of this turn of the event loop, and node-redis writes a turn later.
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
    block(1500)
    const failures = (await Promise.all(decisions)).filter(({ degraded }) => degraded)
    expect(failures).toEqual([])
    // What could not be sent before the loop was blocked is too late, but nothing of it is charged.
    const late = limiter.take('never-sent')
    block(800)
    const { degraded } = await late
    await waitFor(async () => (await limiter.peek('never-sent')).limits[0]!.remaining === (degraded ? 1000 : 999))
    expect((await limiter.health()).store.breaker).toBe('closed')
  })
})
