// What a user's code may look like. It is compiled against the packed packages, strictly, and never run.
import { trace } from '@opentelemetry/api'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import Koa from 'koa'
import { MongoClient } from 'mongodb'
import { Pool } from 'pg'
import { register } from 'prom-client'
import { createLimiter, type Decision, isSluiceError, type Limiter, limiterMetrics, type PolicyDocument } from 'sluice'
import { createBreaker, withRetry } from 'sluice/breaker'
import { createCache, defineKeys, key } from 'sluice/cache'
import { createCapacity, shedding } from 'sluice/capacity'
import { createEgress } from 'sluice/egress'
import { rateLimit as expressLimit } from 'sluice/express'
import { rateLimit as fastifyLimit } from 'sluice/fastify'
import { rateLimit as fetchLimit } from 'sluice/fetch'
import { rateLimit as honoLimit } from 'sluice/hono'
import { allOf, limiterGuard } from 'sluice/http'
import { rateLimit as koaLimit } from 'sluice/koa'
import { mongoPolicy } from 'sluice/mongodb'
import { RateLimitModule } from 'sluice/nest'
import { protect } from 'sluice/node'
import { traceDecisions } from 'sluice/opentelemetry'
import { compilePolicy } from 'sluice/policy'
import schema from 'sluice/policy.schema.json' with { type: 'json' }
import { postgresPolicy } from 'sluice/postgres'
import { createPresence } from 'sluice/presence'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis } from 'sluice/redis'
import { daemonReports, partReport, startReports } from 'sluice/reports'
import { createShipper } from 'sluice/shipper'
import { stateStore } from 'sluice/store'
import { storeConformance, virtualClock } from 'sluice/testing'

const policy: PolicyDocument = { service: 'shop', rules: [{ name: 'ip', key: 'ip', limits: { rpm: 100 } }] }
const redis = openRedis(new Redis())
const limiter: Limiter = await createLimiter({ policy, redis })
const decision: Decision = await limiter.take('user:1', { rule: 'ip' })
if (!decision.allowed) console.log(decision.rule.toUpperCase(), decision.retryAfterMs.toFixed())

express().use(expressLimit(limiter))
// What is given for a limiter may also be a promise of one, or options.
const made = expressLimit({ limits: { amount: 100, per: '15m' } }, { headers: ['draft-11', 'x-ratelimit'] })
express()
  .use(made)
  .use('/v1', expressLimit(createLimiter({ policy })))
await made.close()
await fastify().register(fastifyLimit, { limiter: { limits: { rpm: 100 } } })
new Hono().use(honoLimit({ policy, redis }))
new Koa().use(koaLimit(limiter))
const capacity = await createCapacity({ maxInFlight: 100 })
export const listener = protect(allOf(shedding(capacity), limiterGuard(limiter)), (_, response) => response.end())
export default { fetch: fetchLimit(limiter, () => new Response('hello')) }
export const imports = [RateLimitModule.forRoot({ limiter })]

const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s' }) })
const cache = await createCache({ redis })
export const price: number = await cache.getOrFetch(keys.price('XLM'), async () => 1)
const breaker = createBreaker({ failures: 5 })
export const score: number = await breaker.run(withRetry({ attempts: 2 })(async () => 0.5))
const egress = await createEgress({ policy: { service: 'ingest', upstreams: [] }, redis })
export const status: number = (await egress.fetch('https://api.vendor.example/')).status
const shipper = await createShipper({ dir: 'buffer', endpoint: 'https://collector.example/v1/events' })
await shipper.ship({ type: 'tool-call' })
const presence = await createPresence({ redis })
export const present: number = await presence.count('prices')

prometheusMetrics(register, [limiterMetrics(limiter)])
traceDecisions(limiter, { sampleRate: 0.1, tracer: trace.getTracer('shop') })
startReports({
  service: 'shop',
  to: daemonReports('http://127.0.0.1:8440', { token: 'x' }),
  parts: [partReport('limiter', limiter)],
})

const mongo = new MongoClient('mongodb://localhost')
export const sources = [
  mongoPolicy(mongo.db('shop').collection('rate_limits'), { service: 'shop' }),
  postgresPolicy(new Pool(), { service: 'shop' }),
]
export const facts = [compilePolicy(policy).rules.length, schema.type, isSluiceError(new Error()), virtualClock()]
export { stateStore, storeConformance }

// @ts-expect-error -- the options of another rate limiter.
expressLimit({ windowMs: 900_000, max: 100 })
// @ts-expect-error -- `limts` is not an option: if types were lost in packaging, this would compile.
await createLimiter({ limts: { rpm: 100 } })
