import { Redis } from 'ioredis'
import { startMongod, startRedis } from 'sluice/testing'
import { sentimentService } from './app.ts'
import { openPolicies, seedPolicy } from './policies.ts'
import { startServices } from './services.ts'

// Starts its own servers where none are configured, so that `npm start` works on any machine that has them installed.
const ownRedis = process.env.REDIS_URL === undefined ? await startRedis() : undefined
const mongod = process.env.MONGODB_URL === undefined ? await startMongod({ replicaSet: 1 }) : undefined
if (mongod?.available === false) throw new Error(mongod.why)

const redis = new Redis(process.env.REDIS_URL ?? ownRedis!.url)
redis.on('error', () => undefined)
const mongodbUrl = process.env.MONGODB_URL ?? mongod!.url
const { policies, close } = openPolicies(mongodbUrl, process.env.MONGODB_DATABASE ?? 'flow')
await seedPolicy(policies)
// PREMIUM_API_KEYS=key-of-acme=acme,key-of-globex=globex
const pairs = (process.env.PREMIUM_API_KEYS ?? 'key-of-acme=acme').split(',').map((pair) => pair.split('='))
const premiumKeys = new Map(pairs.map(([key = '', customer = '']) => [key, customer]))
const services = await startServices({ redis, policies, premiumKeys })
services.limiter.on('policyLoaded', ({ version }) => console.log(`policy ${version} is in force`))
services.limiter.on('policyRejected', ({ error }) => console.error(`policy refused: ${error.message}`))

const app = await sentimentService(services)
const url = await app.listen({ port: Number(process.env.PORT ?? 3000) })
const body = `'{"tenant_id":"client-corp","language":"en","text":"I love it"}'`
console.log(`MongoDB at ${mongodbUrl}, Redis at ${process.env.REDIS_URL ?? ownRedis!.url}`)
console.log(`curl -i ${url}/v1/analyze -H 'content-type: application/json' -d ${body}`)

const stop = async (): Promise<void> => {
  await app.close()
  await services.close()
  redis.disconnect()
  await close()
  await ownRedis?.stop()
  await mongod?.stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
