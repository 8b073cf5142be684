import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { startPostgres, startRedis } from 'sluice/testing'
import { recommendApi } from './app.ts'
import { Database } from './database.ts'
import { startServices } from './services.ts'
import { poolSize, readSettings } from './settings.ts'

// Starts its own servers where none are configured, so that `npm start` works on any machine that has them installed.
const own = {
  redis: process.env.REDIS_URL === undefined ? await startRedis() : undefined,
  postgres: process.env.DATABASE_URL === undefined ? await startPostgres() : undefined,
}
const databaseUrl = process.env.DATABASE_URL ?? own.postgres!.url
const redis = new Redis(process.env.REDIS_URL ?? own.redis!.url)
redis.on('error', () => undefined)
const pool = new Pool({ connectionString: databaseUrl, max: poolSize(databaseUrl) })
pool.on('error', () => undefined)
const database = new Database(pool)
await database.prepare()
for (const id of ['welcome', 'renewal'])
  await database.saveOffer('acme', {
    id,
    model: 'ctr',
    weight: 1,
    mandatory: id === 'welcome',
    paced: id === 'renewal',
    segment: null,
  })

// A model that fails sometimes; a real one is a request to its server.
const callModel = async (model: string): Promise<number> => {
  if (Math.random() < 0.1) throw new Error(`The model ${model} does not answer.`)
  return Math.random()
}
const services = await startServices({ redis, database, settings: readSettings(process.env), callModel })
const server = recommendApi(services).listen(Number(process.env.PORT ?? 3000))
// Rejects when the port is taken. Express would call a callback of listen in that case too.
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const headers = `-H 'x-tenant-id: acme' -H 'content-type: application/json'`
console.log(`curl http://localhost:${port}/v1/recommend ${headers} -d '{"customer_id":"c1"}'`)

const stop = async (): Promise<void> => {
  server.close()
  server.closeAllConnections()
  await services.close()
  redis.disconnect()
  await pool.end()
  await own.redis?.stop()
  await own.postgres?.stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
