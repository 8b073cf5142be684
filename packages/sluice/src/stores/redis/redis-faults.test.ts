import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { LimiterOptions } from '../../limiter/limiter-options.ts'
import type { RedisClient } from '../../redis/client.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { storeOf } from '../store-of.ts'
import { openRedis } from './open-redis.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.stop())

const clients: Readonly<Record<string, () => RedisClient>> = {
  ioredis: () => new Redis({ port: redis.port, lazyConnect: true }),
  'node-redis': () => createClient({ socket: { port: redis.port, host: '127.0.0.1' } }),
}
const policy = { service: 'faults', rules: [{ name: 'r', limits: { rph: 1000 }, onStoreFailure: 'closed' as const }] }

const exact = (limiter: Limiter): Promise<unknown> => waitFor(async () => !(await limiter.take('probe')).degraded)

describe.each(Object.entries(clients))('with %s', (_, client) => {
  let limiter: Limiter
  const opened: Limiter[] = []
  async function open(options: Partial<LimiterOptions> = {}): Promise<Limiter> {
    const made = await createLimiter({
      policy,
      redis: openRedis(client()),
      denyCache: false,
      // Heartbeats would be asks, too.
      replicas: 1,
      breaker: { failures: 1_000_000 },
      ...options,
    })
    opened.push(made)
    return made
  }
  const used = async (key: string): Promise<number> => 1000 - (await limiter.peek(key)).limits[0]!.remaining
  const failure = (kind: string): Promise<unknown> =>
    waitFor(async () => {
      const decision = await limiter.take('probe')
      expect(decision).toMatchObject({ allowed: false, degraded: true, reason: 'unavailable', failure: kind })
      return true
    })

  beforeEach(async () => {
    await redis.cli('FLUSHALL')
    limiter = await open()
    await exact(limiter)
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()))
  })

  test('a missing script is brought along, and nothing is degraded', async () => {
    for (let i = 1; i <= 20; i++) {
      await redis.cli('SCRIPT', 'FLUSH')
      const decisions = await Promise.all(Array.from({ length: 300 }, () => limiter.take('flushed')))
      expect(decisions.some(({ degraded }) => degraded)).toBe(false)
    }
    expect(await used('flushed')).toBe(1000)
  })

  test('a master that became a replica is "readonly", and writing resumes when it is a master again', async () => {
    const other = await startRedis()
    try {
      await redis.cli('REPLICAOF', '127.0.0.1', other.port)
      await failure('readonly')
      await redis.cli('REPLICAOF', 'NO', 'ONE')
      await exact(limiter)
    } finally {
      await redis.cli('REPLICAOF', 'NO', 'ONE')
      await other.stop()
    }
  })

  test('somebody else\'s endless script is a timeout at first, then "busy", and then it is over', async () => {
    await redis.cli('CONFIG', 'SET', 'busy-reply-threshold', 50)
    const endless = redis.cli('EVAL', 'while true do end', 0).catch(() => undefined)
    const kinds = new Set<string>()
    await waitFor(async () => {
      const decision = await limiter.take('probe')
      kinds.add(decision.failure ?? 'none')
      return kinds.has('busy')
    })
    const { call } = redisCall(redis.port)
    await call('SCRIPT', 'KILL')
    await endless
    await exact(limiter)
  })

  test('out of memory is "oom": nothing is written, and nothing is charged', async () => {
    await limiter.take('full')
    await redis.cli('CONFIG', 'SET', 'maxmemory', 1)
    try {
      await failure('oom')
      const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.take('full')))
      expect(decisions.every(({ failure: kind }) => kind === 'oom')).toBe(true)
    } finally {
      await redis.cli('CONFIG', 'SET', 'maxmemory', 0)
    }
    await exact(limiter)
    expect(await used('full')).toBe(1)
  })

  test("a key that is not Sluice's is left alone, fails only itself, and does not open the breaker", async () => {
    const strict = await open({ breaker: { failures: 2 } })
    await strict.take('mine')
    const [key] = await redis.cli<string[]>('KEYS', '*mine*')
    await redis.cli('DEL', key!)
    await redis.cli('RPUSH', key!, 'somebody', 'else')
    for (let i = 0; i < 5; i++) {
      const [mine, other] = await Promise.all([strict.take('mine'), strict.take('other')])
      expect(mine).toMatchObject({ allowed: false, failure: 'wrongtype', reason: 'unavailable' })
      expect(other).toMatchObject({ allowed: true, degraded: false })
    }
    expect(await redis.cli('LRANGE', key!, 0, -1)).toEqual(['somebody', 'else'])
    expect((await strict.health()).store.breaker).toBe('closed')
    await redis.cli('SET', key!, 'text')
    expect((await strict.take('mine')).failure).toBe('wrongtype')
    expect(await redis.cli('GET', key!)).toBe('text')
  })

  test('a password that is asked for is "auth"', async () => {
    await redis.cli('ACL', 'SETUSER', 'default', '-eval', '-evalsha')
    try {
      await failure('auth')
    } finally {
      await redis.cli('ACL', 'SETUSER', 'default', '+@all')
    }
    await exact(limiter)
  })

  test('while the breaker is open, decisions cost no I/O', async () => {
    const guarded = await open({ breaker: { failures: 5, cooldown: 60_000 } })
    await redis.cli('CONFIG', 'SET', 'maxmemory', 1)
    try {
      await Promise.all(Array.from({ length: 5 }, () => guarded.take('probe')))
    } finally {
      await redis.cli('CONFIG', 'SET', 'maxmemory', 0)
    }
    await redis.cli('CONFIG', 'RESETSTAT')
    const decisions = await Promise.all(Array.from({ length: 10_000 }, () => guarded.take('probe')))
    expect(decisions.every(({ failure: kind }) => kind === 'breaker')).toBe(true)
    const stats = await redis.info('commandstats')
    expect(Object.keys(stats).filter((name) => /evalsha|eval/.test(name))).toEqual([])
  })

  test('frozen Redis charges nothing for what timed out, however long the connection is kept', async () => {
    const patient = await createLimiter({
      policy,
      redis: openRedis(client(), { socketTimeout: 60_000 }),
      denyCache: false,
      deadline: 100,
      breaker: { failures: 1_000_000 },
    })
    opened.push(patient)
    await exact(patient)
    await redis.freeze()
    try {
      const decisions = await Promise.all(Array.from({ length: 10_000 }, (__, i) => patient.take(`frozen-${i % 100}`)))
      expect(decisions.every(({ failure: kind }) => kind === 'timeout')).toBe(true)
    } finally {
      redis.thaw()
    }
    await exact(patient)
    // Commands of a connection run in order: those that timed out have been through by now.
    expect(await redis.cli('KEYS', '*frozen-*')).toEqual([])
  })
})

test('a server that is loading its data is "loading", and decides when it is done', async () => {
  const loading = await startRedis({
    args: ['--enable-debug-command', 'yes', '--loading-process-events-interval-bytes', '1024'],
  })
  try {
    for (let i = 0; i < 200; i++) await loading.cli('SET', `filler-${i}`, 'x'.repeat(50_000))
    await loading.cli('CONFIG', 'SET', 'key-load-delay', 20_000)
    const store = storeOf(openRedis(new Redis({ port: loading.port, lazyConnect: true })))
    const limiter = await createLimiter({
      policy,
      store,
      denyCache: false,
      deadline: 200,
      breaker: { failures: 1_000_000 },
    })
    await exact(limiter)
    const reload = loading.cli('DEBUG', 'RELOAD').catch(() => undefined)
    const kinds = new Set<string | undefined>()
    await waitFor(async () => kinds.add((await limiter.take('probe')).failure).has('loading'))
    await loading.cli('CONFIG', 'SET', 'key-load-delay', 0).catch(() => undefined)
    await reload
    await exact(limiter)
    await limiter.close()
  } finally {
    await loading.stop()
  }
})

/** A connection beside the one that a test has blocked. */
function redisCall(port: number): { call(...args: string[]): Promise<unknown> } {
  const client = new Redis({ port, lazyConnect: true, enableReadyCheck: false })
  return {
    async call(name, ...args) {
      try {
        return await client.call(name, ...args)
      } finally {
        client.disconnect()
      }
    },
  }
}
