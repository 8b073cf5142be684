import { readFile } from 'node:fs/promises'
import { connectRedis, logTo, readEnv, runMain, serve } from 'example-service'
import { openMongoLimits } from 'example-service/mongo-limits'
import { sentimentService } from './app.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('sentiment-service')]
  const initial = JSON.parse(await readFile(new URL('../rate-limits.json', import.meta.url), 'utf8'))
  const redis = connectRedis(env, log)
  const limits = await openMongoLimits(initial, { env, log, redis })
  const app = await sentimentService({
    limiter: limits.limiter,
    premiumKeys: new Set(env.list('PREMIUM_API_KEYS')),
    trustedProxies: env.list('TRUSTED_PROXIES'),
  })
  await serve({
    ...{ env, log, port: 3000, registry: limits.registry },
    handler: app.routing,
    ready: limits.ready,
    async close() {
      await app.close()
      await limits.close()
      redis.disconnect()
    },
  })
})
