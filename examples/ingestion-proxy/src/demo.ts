// `npm run demo`: the same work through one proxy and through three. The vendor sees 25 per second in both cases.
import { readEnv, runMain } from 'example-service'
import { startRedis } from 'sluice/testing'
import { vendorCalls } from './call-vendor.ts'
import { run, serveReplicas } from './programs.ts'

const redis = await runMain(startRedis)
for (const replicas of [1, 3]) {
  const vendor = run('vendor-main', {})
  const { url = '' } = await vendor.event('started')
  const env = { NIVODA_ENDPOINT: url, INTERNAL_SERVICE_TOKEN: 'inside', REDIS_URL: redis.url }
  const { programs, urls } = await serveReplicas('main', replicas, env)
  const calls = urls.map((url) => vendorCalls(readEnv({ ...env, NIVODA_PROXY_BASE_URL: url }), () => undefined))
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => calls[i % replicas]!({ operationName: 'Demo', query: 'query Demo { a }' })),
  )
  await vendor.stop()
  const { calls: arrived, seconds, most, lateMs } = vendor.events('arrived')[0] as Record<string, number>
  // The first 25 come at once.
  const rate = ((arrived! - 25) / seconds!).toFixed(1)
  // Without a free processor it reads late, and what came apart counts together.
  const late = lateMs! > 25 ? `; the vendor read up to ${lateMs} ms late` : ''
  console.log(`${replicas} proxies: ${arrived} calls, ${rate} per second, at most ${most} in any second${late}`)
  await Promise.all(programs.map((each) => each.stop()))
}
await redis.stop()
