// The aggregator: writes prices, VWAPs, candles and divergences on every cycle. The API only reads.
import { connectRedis, logTo, readEnv, runMain, serve } from 'example-service'
import { Registry } from 'prom-client'
import { cacheMetrics, createCache } from 'sluice/cache'
import { createPresence } from 'sluice/presence'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis } from 'sluice/redis'
import { runAggregator } from './aggregate.ts'
import { Database } from './database.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('price-aggregator')]
  const database = new Database(env.url('DATABASE_URL', 'use postgresql://user:password@host:5432/prices'))
  const cycleMs = env.whole('CYCLE_MS', 1000, { least: 10 })
  const client = connectRedis(env, log)
  await database.prepare()
  const redis = openRedis(client, { service: 'price-api' })
  // Nobody waits for its writes, so that they may take longer than a reader's call.
  const cache = await createCache({ redis, redisDeadline: '1s' })
  const presence = await createPresence({ redis })
  const failed = (error: Error) => log('cycle_failed', { error: error.message })
  const aggregator = runAggregator({ database, cache, presence }, { cycleMs, failed })
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [cacheMetrics(cache)])
  await serve({
    ...{ env, log, registry, port: 3001 },
    handler: (_, response) => response.writeHead(404).end(),
    ready: () => cache.health(),
    async close() {
      await aggregator.stop()
      metrics.close()
      await Promise.all([cache.close(), presence.close()])
      await redis.close()
      client.disconnect()
      await database.close()
    },
  })
})
