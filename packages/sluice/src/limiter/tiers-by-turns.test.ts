import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import type { PolicyDocument } from '../policy/document/document.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { openRedis } from '../stores/redis/index.ts'
import type { Store } from '../stores/store.ts'
import { storeOf } from '../stores/store-of.ts'
import { startRedis } from '../testing/servers/redis.ts'
import { createLimiter } from './create-limiter.ts'

const policy: PolicyDocument = {
  service: 'plans',
  tiers: { free: { rpd: 10 }, pro: { rph: 20 } },
  rules: [{ name: 'plan', key: 'headers.x-user', tier: 'headers.x-plan ?? free' }],
}

async function expectTiersToHold(store: Store): Promise<void> {
  const limiter = await createLimiter({ policy, store })
  const admitted = { free: 0, pro: 0 }
  for (let i = 0; i < 50; i++) {
    for (const plan of ['free', 'pro'] as const) {
      const headers = { 'x-user': 'by-turns', 'x-plan': plan }
      if ((await limiter.check({ method: 'GET', path: '/', headers })).allowed) admitted[plan]++
    }
  }
  await limiter.close()
  expect(admitted).toEqual({ free: 10, pro: 20 })
}

it('a client that changes its tier with every request gets no more than the tiers allow, in memory', () =>
  expectTiersToHold(memoryStore()))

it('a client that changes its tier with every request gets no more than the tiers allow, on Redis', async () => {
  const server = await startRedis()
  const client = new Redis(server.port)
  try {
    await expectTiersToHold(storeOf(openRedis(client)))
  } finally {
    client.disconnect()
    await server.stop()
  }
})
