import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { openRedis } from '../../stores/redis/open-redis.ts'
import { startRedis } from '../../testing/servers/redis.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { createEgress } from '../create-egress.ts'
import { startVendor } from '../testing/vendor.ts'
import { inspectUpstream } from './redis-port.ts'

test('shows what is taken and who waits in Redis, and the process exits when all is closed', async () => {
  const redis = await startRedis()
  const vendor = await startVendor()
  const client = new Redis(redis.url, { lazyConnect: true })
  // Nothing here is about time, so the deadline is long: a busy machine may be slow.
  const handle = openRedis(client, { socketTimeout: 5000 })
  const upstream = { name: 'vendor', origin: vendor.origin, limits: { amount: 2, per: '3s' } }
  const egress = await createEgress({ policy: { service: 'ingest', upstreams: [upstream] }, redis: handle })
  expect(await inspectUpstream(handle, 'ingest', 'vendor')).toBeUndefined()
  const calls = Array.from({ length: 5 }, () => egress.fetch(vendor.origin).catch(({ code }: { code: string }) => code))
  await Promise.all(calls.slice(0, 2))
  await waitFor(async () => (await inspectUpstream(handle, 'ingest', 'vendor'))?.waiting === 3)
  expect(await inspectUpstream(handle, 'ingest', 'vendor')).toMatchObject({
    recoveringMs: 0,
    waiting: 3,
    limits: { 'requests/3000': { used: 2, amount: 2 } },
    pauses: {},
    queue: [{ caller: '', tenant: '', waiting: 3 }],
  })
  await egress.close()
  expect(await Promise.all(calls.slice(2))).toEqual(['SLUICE_CLOSED', 'SLUICE_CLOSED', 'SLUICE_CLOSED'])
  await handle.close()
  client.disconnect()
  await vendor.close()
  await redis.stop()
})
