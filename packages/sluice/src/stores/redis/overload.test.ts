import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { openRedis } from './open-redis.ts'

const deadlineMs = 200
let server: RedisServer
let client: Redis
const limiters: Limiter[] = []

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
})
afterEach(async () => {
  server.thaw()
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})
afterAll(async () => {
  client.disconnect()
  await server?.stop()
})

/** Each user may pass once; so many other rules only cost time. */
async function limiterOf(others: number): Promise<Limiter> {
  const limits = { rps: 1_000_000, rpm: 1_000_000, rpd: 10_000_000 }
  const limiter = await createLimiter({
    policy: {
      service: `overload-${others}-${crypto.randomUUID()}`,
      rules: [
        { name: 'once', key: 'headers.x-user', limits: { amount: 1, per: '1d' } },
        ...Array.from({ length: others }, (_, i) => ({ name: `r${i}`, key: 'headers.x-user', limits })),
      ],
    },
    redis: openRedis(client),
    deadline: deadlineMs,
    denyCache: false,
  })
  limiters.push(limiter)
  await waitFor(async () => !(await check(limiter, 'warm-up')).degraded)
  return limiter
}

function check(limiter: Limiter, user: string): Promise<Decision> {
  return limiter.check({ method: 'GET', path: '/', headers: { 'x-user': user } })
}

/** Keeps the event loop from turning. */
function block(ms: number): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs; );
}

test('more than a process can do in time is exact or refused as overload, and never lets too many pass', async () => {
  const limiter = await limiterOf(29)
  const users = Array.from({ length: 4000 }, (_, i) => `u${i % 1000}`)
  const decisions = await Promise.all(users.map((user) => check(limiter, user)))
  expect(decisions.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(1000)
  const refused = decisions.filter(({ degraded }) => degraded)
  expect(refused.length).toBeGreaterThan(0)
  expect(new Set(refused.map(({ failure }) => failure))).toEqual(new Set(['overload']))
  expect(new Set(refused.map(({ allowed, reason, by }) => `${allowed} ${reason} ${by}`))).toEqual(
    new Set(['false unavailable closed']),
  )
  const { store } = await limiter.health()
  expect(store).toMatchObject({ reachable: true, breaker: 'closed' })
  const again: Decision[] = []
  for (const user of new Set(users)) {
    let decision = await check(limiter, user)
    // Beside other programs, Redis itself may be late once.
    if (decision.degraded) decision = await check(limiter, user)
    again.push(decision)
  }
  expect(again.filter(({ degraded }) => degraded)).toEqual([])
  expect([...decisions, ...again].filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(1000)
})

test.each([
  ['long past the deadline', deadlineMs * 3],
  ['until just after the deadline', deadlineMs + 2],
])('replies that came while the event loop was blocked %s are read, and count', async (_, blockedMs) => {
  const limiter = await limiterOf(0)
  const asked = Array.from({ length: 300 }, (_, i) => check(limiter, `b${i % 100}`))
  // Asks of one turn of the event loop are gathered and sent at its end; the block begins after that.
  setImmediate(() => setImmediate(() => block(blockedMs)))
  const decisions = await Promise.all(asked)
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
  expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
})

test('a call that was sent while sockets were read is not given up before they are read again', async () => {
  const limiter = await limiterOf(0)
  const asked: Promise<Decision>[] = []
  // As a request that comes in over a socket, and keeps the process busy after its decision was sent for.
  const socket = createServer((incoming) => incoming.destroy()).listen(0)
  asked.push(check(limiter, 'early'))
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      await once(connect((socket.address() as AddressInfo).port).resume(), 'close')
      asked.push(check(limiter, `r${i}`))
      block(deadlineMs * 0.7)
    }),
  )
  socket.close()
  const decisions = await Promise.all(asked)
  expect(decisions.filter(({ failure }) => failure !== undefined && failure !== 'overload')).toEqual([])
  expect((await limiter.health()).store).toMatchObject({ reachable: true, breaker: 'closed' })
})

test('a server that is frozen under the same load is an outage, answered by onStoreFailure', async () => {
  const limiter = await limiterOf(29)
  await server.freeze()
  const kinds: (string | undefined)[] = []
  for (let turn = 0; turn < 4; turn++) {
    const decisions = await Promise.all(Array.from({ length: 50 }, (_, i) => check(limiter, `f${turn}-${i}`)))
    kinds.push(...decisions.map(({ allowed, failure }) => `${allowed} ${failure}`))
  }
  expect(kinds).not.toContain('false overload')
  expect(kinds).toContain('true timeout')
})
