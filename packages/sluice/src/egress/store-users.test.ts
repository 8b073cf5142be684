import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLimiter } from '../limiter/create-limiter.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { memoryPort } from './booking/memory-port.ts'
import { createEgress } from './create-egress.ts'
import { startVendor, type Vendor } from './testing/vendor.ts'

let server: RedisServer
let vendor: Vendor
beforeAll(async () => {
  server = await startRedis()
  vendor = await startVendor()
})
afterAll(async () => {
  await vendor.close()
  await server.stop()
})

const policy = () => ({
  service: 's',
  rules: [{ name: 'r', limits: { rpm: 100 } }],
  upstreams: [{ name: 'vendor', origin: vendor.origin, limits: { rps: 100 } }],
})
const connections = async (): Promise<number> => {
  const clients = String(await server.cli('CLIENT', 'LIST'))
    .trim()
    .split('\n')
  return clients.filter((line) => !line.includes('cmd=client')).length
}

test('closing egress takes no longer than asked for, also while Redis is frozen', async () => {
  const frozen = await startRedis()
  try {
    const redis = openRedis(new Redis({ port: frozen.port, lazyConnect: true }))
    const [bounded, other] = [
      await createEgress({ policy: policy(), redis }),
      await createEgress({ policy: policy(), redis }),
    ]
    for (const egress of [bounded, other]) expect((await egress.fetch(vendor.origin)).status).toBe(200)
    await frozen.freeze()
    const ended: string[] = []
    const unbounded = other.close().then(() => ended.push('by the deadlines of Redis'))
    await bounded.close({ within: 20 }).then(() => ended.push('in time'))
    await unbounded
    frozen.thaw()
    await redis.close()
    expect(ended).toEqual(['in time', 'by the deadlines of Redis'])
  } finally {
    await frozen.stop()
  }
})

describe('what was passed to egress', () => {
  test('stays open for its other users when egress closes', async () => {
    const client = new Redis(server.url, { lazyConnect: true })
    const redis = openRedis(client)
    const limiter = await createLimiter({ policy: policy(), redis })
    const [first, second] = [
      await createEgress({ policy: policy(), redis }),
      await createEgress({ policy: policy(), redis }),
    ]
    expect((await first.fetch(vendor.origin)).status).toBe(200)
    await first.close()
    await first.close()
    expect(await limiter.take('k')).toMatchObject({ allowed: true, by: 'store' })
    expect((await second.fetch(vendor.origin)).status).toBe(200)
    await limiter.close()
    expect((await second.fetch(vendor.origin)).status).toBe(200)
    await second.close()
    // Without users it closes its connections, and opens new ones when it is used again.
    await expect.poll(connections).toBe(0)
    const third = await createEgress({ policy: policy(), redis })
    expect((await third.fetch(vendor.origin)).status).toBe(200)
    await third.close()
    await redis.close()
    await expect(createEgress({ policy: policy(), redis })).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
    client.disconnect()
  })

  test('is shared by all egresses of a process, also as a store of another kind', async () => {
    const store = memoryPort(systemClock())
    const upstreams = [{ name: 'vendor', origin: vendor.origin, limits: { amount: 1, per: '20s' }, maxWait: '1ms' }]
    const [a, b] = await Promise.all([1, 2].map(() => createEgress({ policy: { service: 's', upstreams }, store })))
    expect((await a!.fetch(vendor.origin)).status).toBe(200)
    await a!.close()
    await expect(b!.fetch(vendor.origin)).rejects.toMatchObject({ code: 'SLUICE_REFUSED' })
    await b!.close()
    await store.close()
  })
})
