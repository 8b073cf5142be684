// `npm start`: the same work through one proxy and through three. The vendor sees 25 per second in both cases.
import { startRedis } from 'sluice/testing'
import { ingest } from './ingest.ts'

const redis = process.env.REDIS_URL ? undefined : await startRedis()
const env = { REDIS_URL: process.env.REDIS_URL ?? redis!.url }
try {
  for (const replicas of [1, 3]) {
    const result = await ingest(replicas, 60, 200, env)
    console.log(
      `${replicas} ${replicas === 1 ? 'proxy: ' : 'proxies:'} ${result.calls} calls, ${result.perSecond.toFixed(1)} per second, at most ${result.mostInAnySecond} in any second`,
    )
  }
} finally {
  await redis?.stop()
}
