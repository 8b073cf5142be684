// `npm run demo`: the same work through one proxy and through three. The vendor sees 25 per second in both cases.
import { readEnv } from 'example-service'
import { startRedis } from 'sluice/testing'
import { vendorCalls } from './call-vendor.ts'
import { serveReplicas } from './programs.ts'
import { mostInAnySecond, startVendor } from './vendor.ts'

const redis = await startRedis()
for (const replicas of [1, 3]) {
  // As slow as a real one: the limit must be used up although calls take long.
  const vendor = await startVendor(0, 800)
  const env = { NIVODA_ENDPOINT: vendor.url, INTERNAL_SERVICE_TOKEN: 'inside', REDIS_URL: redis.url }
  const { programs, urls } = await serveReplicas('main', replicas, env)
  const calls = urls.map((url) => vendorCalls(readEnv({ ...env, NIVODA_PROXY_BASE_URL: url }), () => undefined))
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => calls[i % replicas]!({ operationName: 'Demo', query: 'query Demo { a }' })),
  )
  const { arrivals } = vendor
  const seconds = (arrivals.at(-1)!.atMs - arrivals[0]!.atMs) / 1000
  const rate = ((arrivals.length - 1) / seconds).toFixed(1)
  console.log(`${replicas} proxies: 200 calls, ${rate} per second, at most ${mostInAnySecond(arrivals)} in any second`)
  await Promise.all(programs.map((each) => each.stop()))
  vendor.close()
}
await redis.stop()
