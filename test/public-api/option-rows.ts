import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { createLimiter, filePolicy, limiterMetrics, memoryStore } from 'sluice'
import { breakerMetrics, bulkhead, createBreaker, createBreakers, withRetry, withTimeout } from 'sluice/breaker'
import { cacheHeaders, createCache, createFreshness, defineKeys, key } from 'sluice/cache'
import { createCapacity, createIngest, shedding } from 'sluice/capacity'
import { createEgress } from 'sluice/egress'
import * as express from 'sluice/express'
import * as fastify from 'sluice/fastify'
import * as fetch from 'sluice/fetch'
import * as hono from 'sluice/hono'
import {
  clientAddress,
  decisionAnswers,
  type Guard,
  identity,
  limiterGuard,
  llmCost,
  passed,
  type RequestReader,
  requestViews,
} from 'sluice/http'
import * as koa from 'sluice/koa'
import { mongoPolicy } from 'sluice/mongodb'
import { type NestModuleOptions, ProtectGuard, RateLimit, RateLimitGuard, RateLimitModule } from 'sluice/nest'
import * as node from 'sluice/node'
import { traceDecisions } from 'sluice/opentelemetry'
import {
  cacheSink,
  createPipeline,
  fileSource,
  httpSink,
  kafkaSource,
  kinesisSource,
  lookup,
  postgresPositions,
  postgresSink,
  postgresSource,
  redisStreamSink,
  redisStreamSource,
  threads,
} from 'sluice/pipeline'
import { compilePolicy, compilePolicyInSlices, openPolicy } from 'sluice/policy'
import { postgresPolicy, postgresStore } from 'sluice/postgres'
import { createPresence, eventStream, type Presence, sendEvents } from 'sluice/presence'
import { openRedis, redisPolicy } from 'sluice/redis'
import { daemonReports, startReports } from 'sluice/reports'
import {
  createAppender,
  createShipper,
  inspectBuffer,
  repairBuffer,
  resendRejected,
  verifyBuffer,
} from 'sluice/shipper'
import { stateStore } from 'sluice/store'
import * as testing from 'sluice/testing'

/** An option that exists, and a call with the given options. Everything else of the call is valid. */
export type Row = readonly [known: string, call: (options: never) => unknown]

const upstreams = [{ name: 'vendor', origin: 'http://127.0.0.1:9', limits: { rps: 1 } }]
const request = { method: 'GET', path: '/', headers: {}, query: {}, params: {}, body: undefined, ip: '192.0.2.1' }
const limiter = await createLimiter({ limits: { rpm: 100 } })
const guard: Guard<unknown> = { decide: async () => passed }
const calls = await createEgress({ policy: { service: 'options', upstreams } })
const memory = await createCache()
const keys = defineKeys({ price: key('price', ['asset'], { ttl: '1m' }) })
const circuit = createBreaker()
const reader = {} as RequestReader<never, never>
const handler = () => new Response()
// Names are checked before the other arguments are used.
const given = {} as never
const handle = openRedis(new Redis({ lazyConnect: true }), { reports: false })
const load = { name: 'options', source: [], sink: async () => undefined }
const freshness = await createFreshness({ redis: handle })

const register = async (plugin: unknown, options: object): Promise<void> => {
  const app = Fastify()
  try {
    await app.register(plugin as never, options as never)
  } finally {
    await app.close()
  }
}

/** The rows of an adapter's `rateLimit` and `protect`. */
function adapterRows(
  rateLimit: (options: never) => unknown,
  protect: (options: never) => unknown,
  ownName: string,
): Record<string, Row> {
  return {
    rateLimit: [ownName, rateLimit],
    'rateLimit.partition': ['secret', (partition) => rateLimit({ partition } as never)],
    'rateLimit.skip': ['paths', (skip) => rateLimit({ skip } as never)],
    'rateLimit.identity': ['trustedProxies', (value) => rateLimit({ identity: value } as never)],
    protect: ['onDenied', protect],
    'protect.identity': ['ipv6Prefix', (value) => protect({ identity: value } as never)],
  }
}

const pushed: Row = ['after', (options) => filePolicy('nowhere.yaml').archive.push({}, options)]

/** By subpath and name: all of the library that takes options. */
export const optionRows: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  '.': {
    'Limiter.admit': ['ttl', (options) => limiter.admit('a', options)],
    'Limiter.check': ['cost', (options) => limiter.check(request, options)],
    'Limiter.take': ['cost', (options) => limiter.take('a', options)],
    'Limiter.peek': ['rule', (options) => limiter.peek('a', options)],
    'Limiter.wait': ['maxWait', (options) => limiter.wait('a', options)],
    'Limiter.reserve': ['ttl', (options) => limiter.reserve('a', options)],
    'Limiter.acquire': ['ttl', (options) => limiter.acquire('a', options)],
    'Limiter.settle': ['rule', (options) => limiter.settle('a', 'id', 1, options)],
    'Limiter.refund': ['takenAt', (options) => limiter.refund('a', options)],
    'Limiter.reset': ['rule', (options) => limiter.reset('a', options)],
    'Limiter.block': ['for', (options) => limiter.block('a', options as never)],
    'Limiter.unblock': ['rule', (options) => limiter.unblock('a', options)],
    'Limiter.inspect': ['rule', (options) => limiter.inspect('a', options)],
    'Limiter.close': ['within', (options) => limiter.close(options)],
    createLimiter: ['deadline', createLimiter],
    'createLimiter.breaker': ['failures', (value) => createLimiter({ limits: { rpm: 1 }, breaker: value })],
    'createLimiter.denyCache': ['maxAge', (denyCache) => createLimiter({ limits: { rpm: 1 }, denyCache })],
    'createLimiter.lease': ['ahead', (lease) => createLimiter({ limits: { rpm: 1 }, lease })],
    limiterMetrics: ['decisionsOnly', (options) => limiterMetrics(limiter, options)],
    openPolicy: ['fallbackPolicy', (options) => openPolicy({ service: 'options', upstreams }, options)],
    filePolicy: ['poll', (options) => filePolicy('sluice.yaml', options)],
    memoryStore: ['maxSubjects', memoryStore],
  },
  './redis': {
    redisPolicy: ['poll', (options) => redisPolicy(handle, options)],
    openRedis: ['socketTimeout', (options) => openRedis(given, options)],
    'openRedis.reports': ['actions', (reports) => openRedis(given, { reports })],
  },
  './policy': {
    compilePolicy: ['functions', (options) => compilePolicy({}, options)],
    compilePolicyInSlices: ['functions', (options) => compilePolicyInSlices({}, options)],
    'PolicyArchive.push': pushed,
    openPolicy: ['fallbackPolicy', (options) => openPolicy({ service: 'options', upstreams }, options)],
  },
  './egress': {
    createEgress: ['deadline', createEgress],
    'Egress.close': ['within', (options) => calls.close(options)],
    'Egress.interceptor': ['maxWait', (options) => calls.interceptor(options)],
    'Egress.run': ['attempts', (options) => calls.run('vendor', () => 1, options)],
    'Egress.fetch.sluice': ['tenant', (sluice) => calls.fetch('http://127.0.0.1:9/', { sluice })],
    'Egress.request.sluice': [
      'tenant',
      (sluice) => calls.request({ upstream: 'vendor', path: '/', method: 'GET', sluice }),
    ],
    'createEgress.hooks.vendor': [
      'classify',
      (vendor) => createEgress({ policy: { service: 'options', upstreams }, hooks: { vendor } }),
    ],
  },
  './store': { stateStore: ['transact', stateStore] },
  './mongodb': { mongoPolicy: ['history', (options) => mongoPolicy(given, options)] },
  './postgres': {
    postgresPolicy: ['createTable', (options) => postgresPolicy(given, options)],
    postgresStore: ['logged', (options) => postgresStore(given, options)],
  },
  './express': adapterRows(
    (options) => express.rateLimit(limiter, options),
    (options) => express.protect(guard, options),
    'headers',
  ),
  './http': {
    decisionAnswers: ['policyName', (options) => decisionAnswers(limiter, options)],
    clientAddress: ['forwardedBy', clientAddress],
    identity: ['forwardedBy', identity],
    llmCost: ['weights', (options) => llmCost(options)],
    'llmCost.weights': ['cached', (weights) => llmCost({ weights })],
    limiterGuard: ['chargeWhen', (options) => limiterGuard(limiter, options)],
    'limiterGuard.partition': ['secret', (partition) => limiterGuard(limiter, { partition })],
    'limiterGuard.skip': ['methods', (skip) => limiterGuard(limiter, { skip })],
    requestViews: ['context', (options) => requestViews(reader, options)],
    'requestViews.identity': ['trustedProxies', (value) => requestViews(reader, { identity: value })],
  },
  './fetch': adapterRows(
    (options) => fetch.rateLimit(limiter, handler, options),
    (options) => fetch.protect(guard, handler, options),
    'remoteAddress',
  ),
  './fastify': {
    rateLimit: ['hook', (options) => register(fastify.rateLimit, { limiter, ...(options as object) })],
    protect: ['hook', (options) => register(fastify.protect, { guard, ...(options as object) })],
  },
  './hono': adapterRows(
    (options) => hono.rateLimit(limiter, options),
    (options) => hono.protect(guard, options),
    'remoteAddress',
  ),
  './koa': adapterRows(
    (options) => koa.rateLimit(limiter, options),
    (options) => koa.protect(guard, options),
    'maxDelay',
  ),
  './nest': {
    RateLimit: ['cost', RateLimit],
    'ProtectGuard.constructor': ['onDenied', (options) => new ProtectGuard(guard, options)],
    'ProtectGuard.constructor.identity': ['ipv6Prefix', (value) => new ProtectGuard(guard, { identity: value })],
    'RateLimitGuard.constructor': ['headers', (options) => new RateLimitGuard(limiter, options)],
    'RateLimitGuard.constructor.partition': ['secret', (partition) => new RateLimitGuard(limiter, { partition })],
    'RateLimitGuard.constructor.skip': ['paths', (skip) => new RateLimitGuard(limiter, { skip })],
    'RateLimitGuard.constructor.identity': ['ipv6Prefix', (value) => new RateLimitGuard(limiter, { identity: value })],
    'RateLimitModule.forRoot': ['limiter', (options) => RateLimitModule.forRoot(options)],
    'RateLimitModule.forRoot.partition': ['secret', (partition) => started({ limiter, partition })],
    'RateLimitModule.forRoot.skip': ['paths', (skip) => started({ limiter, skip })],
    'RateLimitModule.forRoot.identity': ['ipv6Prefix', (value) => started({ limiter, identity: value })],
    'RateLimitModule.forRootAsync': ['useFactory', (options) => RateLimitModule.forRootAsync(options)],
  },
  './node': adapterRows(
    (options) => node.rateLimit(limiter, () => undefined, options),
    (options) => node.protect(guard, () => undefined, options),
    'onError',
  ),
  './breaker': {
    'Breaker.close': ['within', (options) => circuit.close(options)],
    'Breakers.close': ['within', (options) => createBreakers().close(options)],
    'Breaker.run': ['fallback', (options) => circuit.run(() => 1, options)],
    'Breaker.outcome': ['signal', (options) => circuit.outcome(() => 1, options)],
    'Breaker.wrap': ['fallback', (options) => circuit.wrap(() => 1, options)],
    createBreakers: ['maxKeys', createBreakers],
    'createBreakers.failureRate': ['minCalls', (failureRate) => createBreakers({ failureRate })],
    'createBreakers.slowCallRate': ['slow', (slowCallRate) => createBreakers({ slowCallRate })],
    createBreaker: ['cooldown', createBreaker],
    'createBreaker.failureRate': ['minCalls', (failureRate) => createBreaker({ failureRate })],
    'createBreaker.slowCallRate': ['slow', (slowCallRate) => createBreaker({ slowCallRate })],
    breakerMetrics: ['maxKeys', (options) => breakerMetrics(circuit, options)],
    bulkhead: ['maxWait', (options) => bulkhead(1, options)],
    withRetry: ['budget', withRetry],
    'withRetry.budget': ['ratio', (budget) => withRetry({ budget })],
    withTimeout: ['clock', (options) => withTimeout(1, options)],
  },
  './cache': {
    'Cache.getOrFetch': ['staleIfError', (options) => memory.getOrFetch(keys.price('a'), () => 1, options)],
    'Cache.lookup': ['staleIfError', (options) => memory.lookup(keys.price('b'), () => 1, options)],
    'Cache.getOrFetchMany': ['ttl', (options) => memory.getOrFetchMany([keys.price('e')], () => [1], options)],
    'Cache.set': ['ttl', (options) => memory.set(keys.price('c'), 1, options)],
    'Cache.setMany': ['ttl', (options) => memory.setMany([[keys.price('c'), 1]], options)],
    'Cache.invalidate': ['mode', (options) => memory.invalidate(keys.price('d'), options)],
    'Cache.expire': ['mode', (options) => memory.expire(keys.price('d'), options)],
    'Cache.close': ['within', (options) => memory.close(options)],
    'Cache.warm': ['within', (options) => memory.warm(options)],
    cacheHeaders: ['visibility', (options) => cacheHeaders(given, options)],
    createCache: ['name', createCache],
    'createCache.memory': ['maxBytes', (value) => createCache({ memory: value })],
    'createCache.warmUp': ['within', (warmUp) => createCache({ warmUp })],
    'Freshness.close': ['within', (options) => freshness.close(options)],
    createFreshness: ['sources', createFreshness],
    key: ['ttl', (options) => key('name', ['part'], options)],
  },
  './capacity': {
    createCapacity: ['maxInFlight', createCapacity],
    'Capacity.close': ['within', async (options) => (await createCapacity()).close(options)],
    'Ingest.close': ['within', async (options) => (await createIngest({ accept: () => {} })).close(options)],
    createIngest: ['accept', createIngest],
    shedding: ['priority', (options) => shedding(given, options)],
  },
  './shipper': {
    createAppender: ['durability', createAppender],
    createShipper: ['durability', createShipper],
    'createShipper.backoff': ['factor', (backoff) => createShipper({ dir: 'nowhere', endpoint: 'http://a', backoff })],
    inspectBuffer: ['ownerTimeout', (options) => inspectBuffer('nowhere', options)],
    resendRejected: ['endpoint', resendRejected],
    repairBuffer: ['fs', (options) => repairBuffer('nowhere', options)],
    verifyBuffer: ['fs', (options) => verifyBuffer('nowhere', options)],
    'Shipper.close': ['within', closeShipper],
  },
  './pipeline': {
    'Pipeline.close': ['within', closePipeline],
    cacheSink: ['key', (options) => cacheSink(given, options)],
    createPipeline: ['source', createPipeline],
    fileSource: ['format', (options) => fileSource('x', options)],
    httpSink: ['url', httpSink],
    kafkaSource: ['topic', (options) => kafkaSource(given, options)],
    kinesisSource: ['stream', (options) => kinesisSource(given, options)],
    lookup: ['key', (options) => lookup(given, options)],
    postgresPositions: ['table', (options) => postgresPositions(given, options)],
    postgresSink: ['table', (options) => postgresSink(given, options)],
    postgresSource: ['table', (options) => postgresSource(given, options)],
    redisStreamSink: ['stream', (options) => redisStreamSink(given, options)],
    redisStreamSource: ['stream', (options) => redisStreamSource(given, options)],
    threads: ['size', (options) => threads('x', options)],
    'createPipeline.rate': ['rule', (rate) => createPipeline({ ...load, rate })],
  },
  './presence': {
    'Presence.close': ['within', (options) => withPresence((presence) => presence.close(options))],
    'Presence.publish': ['event', (options) => withPresence((presence) => presence.publish('c', 1, options))],
    'Presence.subscribe': ['after', (options) => withPresence((presence) => presence.subscribe('c', ignore, options))],
    createPresence: ['redis', createPresence],
    'createPresence.replay': ['messages', (replay) => createPresence({ redis: handle, replay })],
    eventStream: ['heartbeat', (options) => eventStream(given, options)],
    sendEvents: ['heartbeat', (options) => sendEvents(given, given, options)],
  },
  './opentelemetry': { traceDecisions: ['sampleRate', (options) => traceDecisions(limiter, options)] },
  './reports': {
    daemonReports: ['token', (options) => daemonReports('http://127.0.0.1:9', options)],
    startReports: ['parts', startReports],
  },
  './testing': {
    bookingConformance: ['start', (options) => testing.bookingConformance(given, options)],
    httpConformance: ['start', (options) => testing.httpConformance(given, options)],
    pipelineSinkConformance: ['start', (options) => testing.pipelineSinkConformance(given, options)],
    pipelineSourceConformance: ['start', (options) => testing.pipelineSourceConformance(given, options)],
    sourceConformance: ['start', (options) => testing.sourceConformance(given, options)],
    storeConformance: ['holds', (options) => testing.storeConformance(given, options)],
    'TcpProxy.dropReplies': ['thenClose', (options) => withProxy((proxy) => proxy.dropReplies(true, options))],
    'TcpProxy.cut': ['reset', (options) => withProxy((proxy) => proxy.cut(options))],
    startTcpProxy: ['targetHost', testing.startTcpProxy],
    waitFor: ['timeoutMs', (options) => testing.waitFor(() => true, options)],
    startCluster: ['masters', testing.startCluster],
    startMongod: ['replicaSet', testing.startMongod],
    startNginx: ['http', (options) => testing.startNginx('', options)],
    startPostgres: ['args', testing.startPostgres],
    startRedis: ['args', testing.startRedis],
    startSentinel: ['args', testing.startSentinel],
    startCollector: ['keepData', testing.startCollector],
  },
}

/** Does what Nest does when an app with the module starts. */
function started(options: NestModuleOptions): unknown {
  const [provider] = RateLimitModule.forRoot(options).providers as unknown as [{ useFactory(): unknown }]
  return provider.useFactory()
}

const ignore = (): void => undefined

async function closePipeline(options: never): Promise<unknown> {
  const pipeline = await createPipeline(load)
  return (async () => pipeline.close(options))().finally(() => pipeline.close())
}

async function withPresence(use: (presence: Presence) => unknown): Promise<unknown> {
  const presence = await createPresence({ redis: handle })
  try {
    return await use(presence)
  } finally {
    await presence.close()
  }
}

async function closeShipper(options: never): Promise<unknown> {
  const files = testing.modelFiles()
  const shipper = await createShipper({ dir: 'buffer', send: async () => undefined, fs: files, flushInterval: false })
  return shipper.close(options).finally(() => shipper.close())
}

async function withProxy(use: (proxy: testing.TcpProxy) => void): Promise<void> {
  const proxy = await testing.startTcpProxy({ targetPort: 9 })
  try {
    use(proxy)
  } finally {
    await proxy.close()
  }
}
