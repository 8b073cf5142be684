import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRedis } from '../../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { createLimiter } from '../create-limiter.ts'
import type { Limiter } from '../limiter.ts'

let server: RedisServer
let clients: Redis[]
beforeAll(async () => {
  server = await startRedis()
  clients = [1, 2, 3].map(() => new Redis({ port: server.port, lazyConnect: true }))
})
afterAll(async () => {
  for (const client of clients ?? []) client.disconnect()
  await server?.stop()
})

let services = 0

/** Three processes with a service of its own; all times are hours, so that none of them ends meanwhile. */
async function replicas(denyCache: false | { maxAge: string }) {
  const service = `s${++services}`
  const block = { after: 4, within: '3h', for: '2h' } as const
  const rules = [{ name: 'r', limits: { amount: 3, per: '5h' }, block, onStoreFailure: 'closed' as const }]
  const handles = clients.map((client) => openRedis(client))
  const limiters = await Promise.all(
    handles.map((redis) => createLimiter({ policy: { service, rules }, redis, denyCache, deadline: '20s' })),
  )
  const close = async () => {
    await Promise.all(limiters.map((limiter) => limiter.close()))
    await Promise.all(handles.map((redis) => redis.close()))
  }
  return { limiters, close }
}

it('counts denials over all replicas: the decisions of any mixture are those of one', async () => {
  const step = fc.record({
    replica: fc.nat(2),
    key: fc.constantFrom('a', 'b'),
    // Several at once from one replica become one call.
    times: fc.constantFrom(1, 1, 1, 2, 6),
    kind: fc.constantFrom('take', 'take', 'take', 'take', 'take', 'block', 'unblock', 'reset'),
  })
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
    const { limiters, close } = await replicas(false)
    const model = new Map<string, { spent: number; strikes: number; blocked: boolean }>()
    try {
      for (const { replica, key, times, kind } of steps) {
        const limiter = limiters[replica]!
        const state = model.get(key) ?? { spent: 0, strikes: 0, blocked: false }
        model.set(key, state)
        if (kind === 'take') {
          const decisions = await Promise.all(Array.from({ length: times }, () => limiter.take(key)))
          expect(decisions.map(({ reason }) => reason)).toEqual(decisions.map(() => takeFrom(state)))
        } else if (kind === 'unblock') {
          expect(await limiter.unblock(key)).toBe(state.blocked)
          if (state.blocked) Object.assign(state, { blocked: false, strikes: 0 })
        } else {
          await (kind === 'reset' ? limiter.reset(key) : limiter.block(key, { for: '2h' }))
          Object.assign(
            state,
            kind === 'reset' ? { spent: 0, strikes: 0, blocked: false } : { strikes: 0, blocked: true },
          )
        }
      }
    } finally {
      await close()
    }
  })
  await fc.assert(property, { numRuns: 25 })
})

function takeFrom(state: { spent: number; strikes: number; blocked: boolean }): string {
  if (state.blocked) return 'blocked'
  if (state.spent < 3) {
    state.spent += 1
    return 'allowed'
  }
  state.strikes += 1
  if (state.strikes < 4) return 'quota'
  state.blocked = true
  return 'blocked'
}

it('counts every denial with the deny-cache, and a blocked key needs no round trip', async () => {
  const { limiters, close } = await replicas({ maxAge: '1h' })
  try {
    const reasons: string[] = []
    for (let i = 0; i < 8; i++) reasons.push((await limiters[i % 3]!.take('k')).reason)
    expect(reasons).toEqual(['allowed', 'allowed', 'allowed', 'quota', 'quota', 'quota', 'blocked', 'blocked'])
    await takesOf(limiters[2]!, 1)
    for (const limiter of limiters) {
      const decisions = await takesOf(limiter, 3)
      expect(decisions.map(({ reason, by }) => [reason, by])).toEqual(Array(3).fill(['blocked', 'deny-cache']))
    }
  } finally {
    await close()
  }
})

function takesOf(limiter: Limiter, times: number) {
  return Promise.all(Array.from({ length: times }, () => limiter.take('k')))
}
