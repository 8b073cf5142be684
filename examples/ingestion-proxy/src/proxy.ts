// One replica of the proxy. All replicas share the vendor's limit through Redis.
import { startProxy } from '@sluice/server'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { createEgress } from 'sluice/egress'
import { openRedis } from 'sluice/redis'
import { readSettings } from './settings.ts'

const settings = readSettings(process.env)
const client = settings.redisUrl === undefined ? undefined : new Redis(settings.redisUrl, { lazyConnect: true })
const redis = client && openRedis(client)

const egress = await createEgress({
  policy: {
    service: 'ingestion-proxy',
    upstreams: [
      {
        name: 'vendor',
        origin: settings.endpoint,
        limits: { rps: settings.perSecond },
        maxWait: `${settings.maxWaitMs}ms`,
        timeout: `${settings.timeoutMs}ms`,
      },
    ],
  },
  ...(redis && { redis }),
})

const proxy = await startProxy(
  egress,
  {
    host: '127.0.0.1',
    port: settings.port,
    tokens: settings.token === undefined ? [] : [settings.token],
    credentials: settings.authorization === undefined ? {} : { vendor: { authorization: settings.authorization } },
    maxBodyBytes: 10 * 1024 * 1024,
    drainMs: 30_000,
  },
  pino({ level: process.env.LOG_LEVEL ?? 'info' }),
)
process.stdout.write(`${JSON.stringify({ listening: proxy.url })}\n`)

const stop = async (): Promise<void> => {
  await proxy.close()
  await egress.close()
  await redis?.close()
  client?.disconnect()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
