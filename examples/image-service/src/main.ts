import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { startMongod, startRedis } from 'sluice/testing'
import { imageService } from './app.ts'
import { openRateLimits, type RateLimits, startServices } from './services.ts'

// Starts its own servers where none are configured, so that `npm start` works on any machine that has them installed. A
// single MongoDB has no change streams, so `last_updated` is polled.
const ownRedis = process.env.REDIS_URL === undefined ? await startRedis() : undefined
const mongod = process.env.MONGODB_URL === undefined ? await startMongod() : undefined
if (mongod?.available === false) throw new Error(mongod.why)

const redis = new Redis(process.env.REDIS_URL ?? ownRedis!.url)
redis.on('error', () => undefined)
const mongodbUrl = process.env.MONGODB_URL ?? mongod!.url
const { rateLimits, close } = openRateLimits(mongodbUrl, process.env.MONGODB_DATABASE ?? 'flow')
const { _id, ...sample } = JSON.parse(
  await readFile(new URL('../rate-limits.json', import.meta.url), 'utf8'),
) as RateLimits
const limits = { ...sample, last_updated: new Date(sample.last_updated) }
await rateLimits.updateOne({ _id }, { $setOnInsert: limits }, { upsert: true })
const premiumKeys = new Map([[process.env.PREMIUM_API_KEY ?? 'key-of-acme', 'acme']])
const pollMs = Number(process.env.POLL_MS ?? 30_000)
const services = await startServices({ redis, rateLimits, premiumKeys, pollMs })
services.limiter.on('policyLoaded', ({ version }) => console.log(`policy ${version} is in force`))
services.limiter.on('policyRejected', ({ error }) => console.error(`policy refused: ${error.message}`))

const server = imageService(services).listen(Number(process.env.PORT ?? 3000))
// Rejects when the port is taken. Express would call a callback of listen in that case too.
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const body = `'{"tenant_id":"client-corp","model_version":"v2","image_url":"https://images.example/1"}'`
console.log(`MongoDB at ${mongodbUrl}, Redis at ${process.env.REDIS_URL ?? ownRedis!.url}`)
console.log(`curl -i http://localhost:${port}/v1/classify -H 'content-type: application/json' -d ${body}`)

const stop = async (): Promise<void> => {
  server.close()
  server.closeAllConnections()
  await services.close()
  redis.disconnect()
  await close()
  await ownRedis?.stop()
  await mongod?.stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
