import { fileURLToPath } from 'node:url'
import { connectRedis, logTo, readEnv, runMain, serve } from 'example-service'
import { filePolicy } from 'sluice'
import { priceApi } from './app.ts'
import { Database } from './database.ts'
import { startServices } from './services.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('price-api')]
  const database = new Database(env.url('DATABASE_URL', 'use postgresql://user:password@host:5432/prices'))
  const redis = connectRedis(env, log)
  await database.prepare()
  const sources = env.list('DATA_SOURCES')
  const policy = filePolicy(env.text('POLICY_FILE', fileURLToPath(new URL('../sluice.yaml', import.meta.url))))
  const services = await startServices({ redis, database, sources, policy })
  const apiKeys = new Set(env.list('API_KEYS'))
  await serve({
    ...{ env, log, port: 3000, registry: services.registry },
    handler: priceApi(services, { apiKeys, trustedProxies: env.list('TRUSTED_PROXIES') }),
    async ready() {
      const found = await services.freshness.read().catch(() => undefined)
      const stale = found?.filter((source) => source.stale) ?? []
      // Stale data is still served, so it is reported and the service stays ready.
      return { ready: true, redis: services.cache.stats().redis, stale, unknown: found === undefined }
    },
    async close() {
      await services.close()
      redis.disconnect()
      await database.close()
    },
  })
})
