// One process of a service during an upgrade: limiter, egress, cache and presence on one Redis, under load until it is
// told to stop. Plain JavaScript, as it runs with a library that was packed.
import { Redis } from 'ioredis'
import { createLimiter } from 'sluice'
import { createCache } from 'sluice/cache'
import { createEgress } from 'sluice/egress'
import { createPresence } from 'sluice/presence'
import { openRedis } from 'sluice/redis'

const [id, port, vendor, tries] = process.argv.slice(2)
// This test is not about how fast a busy machine decides.
const deadline = '20s'
const client = new Redis({ port: Number(port), host: '127.0.0.1' })
const redis = openRedis(client, { service: 'upgrade', reports: false, socketTimeout: deadline })

const tight = ['fixed-window', 'sliding-window', 'sliding-log', 'gcra']
const limiter = await createLimiter({
  redis,
  deadline,
  policy: {
    service: 'upgrade',
    rules: [
      { name: 'wide', key: 'ip', limits: [{ amount: 1_000_000, per: '1d' }], onStoreFailure: 'open' },
      ...tight.map((name) => ({
        name,
        key: 'ip',
        limits: [{ amount: 50, per: '1d', algorithm: name }],
        onStoreFailure: 'open',
      })),
    ],
  },
})
const upstreams = [
  { name: 'vendor', origin: vendor, limits: { rps: 500 }, concurrency: 2, onStoreFailure: 'open', maxWait: '60s' },
]
const egress = await createEgress({ redis, deadline, replicas: 2, policy: { service: 'upgrade', upstreams } })
const cache = await createCache({ redis, redisDeadline: deadline, proof: '300ms' })
const presence = await createPresence({ redis, redisDeadline: deadline })

const seen = {
  decisions: 0,
  degraded: 0,
  admitted: {},
  used: 0,
  calls: 0,
  reads: 0,
  fromRedis: 0,
  staleReads: 0,
  lists: 0,
  notListed: 0,
  listed: [],
  failures: [],
}
const failed = (where, error) => {
  const text = `${where} ${error?.kind ?? error?.reason ?? error?.code ?? ''}`.trim()
  if (!seen.failures.includes(text)) seen.failures.push(text)
}
limiter.on('storeFailed', ({ error }) => failed('limiter', error))
egress.on('storeFailed', ({ error }) => failed('egress', error))
cache.on('redisChanged', ({ state, error }) => state === 'down' && failed('cache', error))
cache.on('skipped', ({ reason }) => failed(`cache ${reason}`))
presence.on('failed', ({ error }) => failed('presence', error))

let stopping = false
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
async function repeat(where, ms, work) {
  while (!stopping) {
    await work().catch((error) => failed(where, error))
    await pause(ms)
  }
}

async function take(rule) {
  const { allowed, degraded } = await limiter.take('203.0.113.7', { rule })
  seen.decisions++
  if (degraded) seen.degraded++
  if (allowed) seen.admitted[rule] = (seen.admitted[rule] ?? 0) + 1
}

/** Every process asks for its part of the tight limits, so that all versions count on them and find them exhausted. */
async function exhaust() {
  for (let i = 0; i < tries; i++) {
    for (const rule of tight) await take(rule)
    await pause(5)
  }
}

async function callVendor() {
  const response = await egress.fetch(`${vendor}/`)
  await response.text()
  seen.calls++
}

/** What a strict invalidation has announced is never read as it was before. */
async function read() {
  const announced = Number(await client.zscore('announced', 'price'))
  const fetch = async () => Number(await client.get('price'))
  const { value, stale, from } = await cache.lookup('price', fetch, { ttl: '1h' })
  seen.reads++
  if (from === 'redis') seen.fromRedis++
  if (!stale && value < announced) seen.staleReads++
}

async function write() {
  const value = await client.incr('price')
  await cache.invalidate('price', { mode: 'strict' })
  await client.zadd('announced', 'GT', value, 'price')
}

/** Who was connected before and after the list was read is on it. */
async function list() {
  const before = await client.smembers('connected')
  const listed = (await presence.list('room')).map((member) => member.id)
  const after = await client.smembers('connected')
  seen.lists++
  seen.notListed += before.filter((each) => after.includes(each) && !listed.includes(each)).length
}

process.once('message', async () => {
  stopping = true
  await Promise.all(lanes)
  seen.used = await limiter.inspect('203.0.113.7', { rule: 'wide' }).then(
    ({ limits }) => limits[0].amount - limits[0].remaining,
    (error) => failed('inspect', error),
  )
  seen.listed = await presence.list('room').then(
    (members) => members.map((member) => member.id),
    () => [],
  )
  await client.srem('connected', id)
  await Promise.all([limiter.close(), egress.close(), cache.close(), presence.close()])
  client.disconnect()
  process.send(seen, () => process.disconnect())
})

await presence.join('room', id)
await client.sadd('connected', id)
await write().catch((error) => failed('invalidate', error))
const lanes = [
  ...[1, 2, 3].map(() => repeat('take', 2, () => take('wide'))),
  exhaust().catch((error) => failed('exhaust', error)),
  ...[1, 2, 3].map(() => repeat('call', 5, callVendor)),
  repeat('lookup', 5, read),
  repeat('invalidate', 50, write),
  repeat('list', 20, list),
]
process.send('started')
