import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { priceApi } from './app.ts'
import { Database } from './database.ts'
import { produce, randomWalk } from './producer.ts'
import { startServices } from './services.ts'

// The API as `load.ts` measures it: in a separate process, with Redis behind Sentinel, and limits that the load does
// not reach.
const sentinels = process.env.SENTINELS!.split(',').map((port) => ({ host: '127.0.0.1', port: Number(port) }))
const redis = new Redis({ sentinels, name: process.env.MASTER ?? 'mymaster', maxRetriesPerRequest: 1 })
redis.on('error', () => undefined)
const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 20 })
pool.on('error', () => undefined)
const database = new Database(pool)
await database.prepare()
const step = randomWalk(Array.from({ length: 500 }, (_, i) => `A${i}`))
for (const price of step()) await database.saveTrade(price)
const policy = {
  service: 'price-api',
  rules: [
    {
      name: 'address',
      match: { path: '/v1/*' },
      key: 'ip | subnet(32, 64)',
      limits: { amount: 10_000_000, per: '1m', name: 'minute' },
      onStoreFailure: 'local',
    },
  ],
} as const
const services = await startServices({ redis, database, policy })
services.cache.on('warmed', ({ warmed, tookMs }) => process.send!({ warmed, tookMs }))
process.on('message', (what) => {
  if (what === 'wipe') void redis.flushall().catch(() => undefined)
})
const producing = setInterval(() => void produce(services, step().slice(0, 20)).catch(() => undefined), 1000)
const server = priceApi(services).listen(0, '127.0.0.1', () => {
  process.send!({ port: (server.address() as AddressInfo).port })
})
process.once('SIGTERM', async () => {
  clearInterval(producing)
  server.close()
  server.closeAllConnections()
  await services.close()
  redis.disconnect()
  await pool.end()
  process.exit(0)
})
