import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { startPostgres, startRedis } from 'sluice/testing'
import { priceApi } from './app.ts'
import { Database } from './database.ts'
import { produce, randomWalk } from './producer.ts'
import { startServices } from './services.ts'

// Starts its own servers where none are configured, so that `npm start` works on any machine that has them installed.
const own = {
  redis: process.env.REDIS_URL === undefined ? await startRedis() : undefined,
  postgres: process.env.DATABASE_URL === undefined ? await startPostgres() : undefined,
}
const redis = new Redis(process.env.REDIS_URL ?? own.redis!.url)
redis.on('error', () => undefined)
const pool = new Pool({ connectionString: process.env.DATABASE_URL ?? own.postgres!.url, max: 10 })
pool.on('error', () => undefined)
const database = new Database(pool)
await database.prepare()
const services = await startServices({ redis, database })

const step = randomWalk(['XLM', 'BTC', 'ETH'])
for (const assetId of ['XLM', 'BTC', 'ETH']) await database.saveAsset({ assetId, name: assetId, decimals: 7 })
await produce(services, step())
const producing = setInterval(() => void produce(services, step()).catch((error) => console.error(error.message)), 1000)

const server = priceApi(services).listen(Number(process.env.PORT ?? 3000))
// Rejects when the port is taken. Express would call a callback of listen in that case too.
await once(server, 'listening')
const { port } = server.address() as AddressInfo
console.log(`curl 'http://localhost:${port}/v1/price?asset=XLM'`)

const stop = async (): Promise<void> => {
  clearInterval(producing)
  server.close()
  server.closeAllConnections()
  await services.close()
  redis.disconnect()
  await pool.end()
  await own.redis?.stop()
  await own.postgres?.stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
