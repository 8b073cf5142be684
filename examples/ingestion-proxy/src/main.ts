// One replica of the proxy. With REDIS_URL all replicas share the vendor's limit; without, there must be only one.
import { connectRedis, logTo, namesRedis, readEnv, runMain, serve } from 'example-service'
import { Registry } from 'prom-client'
import { egressMetrics } from 'sluice/egress'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis } from 'sluice/redis'
import { ingestionProxy } from './app.ts'
import { openEgress } from './open-egress.ts'
import { readProxySettings } from './settings.ts'

await runMain(async () => {
  const env = readEnv()
  const log = logTo(env.text('SERVICE_NAME', 'ingestion-proxy'))
  const settings = readProxySettings(env)
  const client = namesRedis(env) ? connectRedis(env, log) : undefined
  const redis = client && openRedis(client, { service: 'ingestion-proxy' })
  const egress = await openEgress(settings, redis)
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [egressMetrics(egress)])
  await serve({
    ...{ env, log, registry, port: 3001 },
    handler: ingestionProxy(egress, settings, log),
    async ready() {
      const { ready, warnings } = await egress.health()
      return ready ? { ready, warnings } : { ready, reason: 'redis', warnings }
    },
    // Calls that still wait were not sent, and can be made through another replica.
    hurry: (within) => egress.close({ within }),
    async close() {
      metrics.close()
      await egress.close()
      await redis?.close()
      client?.disconnect()
    },
  })
})
