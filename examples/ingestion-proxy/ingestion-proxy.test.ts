import { startRedis } from 'sluice/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callVendor } from './src/call-vendor.ts'
import { ingest } from './src/ingest.ts'
import { startReplica } from './src/replicas.ts'
import { startVendor } from './src/vendor.ts'

let redis: Awaited<ReturnType<typeof startRedis>>
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

it.each([1, 3])('the vendor never sees more than its limit in any second through %d proxies', async (replicas) => {
  const result = await ingest(replicas, 30, 80, { REDIS_URL: redis.url, NIVODA_PROXY_RATE_LIMIT: '25' })
  expect(result.calls).toBe(80)
  expect(result.mostInAnySecond).toBeLessThanOrEqual(25)
  expect(result.authorizations).toEqual([`Basic ${Buffer.from('user:secret').toString('base64')}`])
})

it('refuses callers without the token and waits that would be too long, and is rolled back by one variable', async () => {
  const vendor = await startVendor()
  const env = {
    NIVODA_ENDPOINT: vendor.url,
    INTERNAL_SERVICE_TOKEN: 'inside',
    NIVODA_PROXY_RATE_LIMIT: '1',
    NIVODA_PROXY_RATE_LIMIT_MAX_WAIT_MS: '100',
  }
  const proxy = await startReplica(env)
  try {
    const through = { ...env, NIVODA_PROXY_BASE_URL: proxy.url }
    await expect(callVendor('a', { ...through, INTERNAL_SERVICE_TOKEN: 'wrong' })).rejects.toThrow(/401/)
    await callVendor('a', through)
    await expect(callVendor('b', through)).rejects.toThrow(/429.*wait-too-long/s)
    await callVendor('c', env)
    expect(vendor.arrivalsMs).toHaveLength(2)
    expect((await fetch(`${proxy.url}/ready`)).status).toBe(200)
  } finally {
    await proxy.stop()
    vendor.close()
  }
})
