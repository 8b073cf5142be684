// What a user's program does, in the runtime and with the Redis client of one cell of the matrix. Prints `ok`, or
// throws.
import { createLimiter } from 'sluice'
import { createCache } from 'sluice/cache'
import { rateLimit } from 'sluice/fetch'
import { createPresence } from 'sluice/presence'
import { openRedis } from 'sluice/redis'

const [what, client, port] = process.argv.slice(2)

function expect(found, wanted) {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`)
}

async function allowedOf(limiters, key, times) {
  let allowed = 0
  for (let i = 0; i < times; i++) if ((await limiters[i % limiters.length].take(key)).allowed) allowed++
  return allowed
}

const runs = {
  async memory() {
    const limiter = await createLimiter({ limits: { rpm: 5 } })
    expect(await allowedOf([limiter], 'somebody', 8), 5)
    await limiter.close()
  },
  async fetch() {
    const handle = rateLimit({ limits: { rpm: 2 } }, () => new Response('hello'), { remoteAddress: () => '192.0.2.1' })
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await handle(new Request('https://a.example/'))).status)
    expect(statuses, [200, 200, 429])
  },
  async redis() {
    const connection = await connect()
    const redis = openRedis(connection, { service: `matrix-${Date.now()}`, socketTimeout: '20s' })
    const limits = [{ amount: 5, per: '1h', algorithm: 'sliding-log' }]
    const replica = () => createLimiter({ limits, redis, deadline: '20s' })
    const limiters = [await replica(), await replica()]
    expect(await allowedOf(limiters, 'somebody', 8), 5)

    const cache = await createCache({ redis, redisDeadline: '20s' })
    let value = 1
    const read = () => cache.getOrFetch('price', () => value, { ttl: '1h' })
    expect([await read(), ++value && (await read())], [1, 1])
    await cache.invalidate('price')
    expect(await read(), 2)

    const presence = await createPresence({ redis, redisDeadline: '20s' })
    const heard = new Promise((resolve) => presence.subscribe('room', resolve, { after: '0-0' }))
    await presence.join('room', 'alice')
    await presence.publish('room', 'hello')
    expect([(await presence.list('room')).map((member) => member.id), await heard], [['alice'], 'hello'])
    for (const part of [...limiters, cache, presence]) await part.close()
  },
}

async function connect() {
  const library = await import(client)
  if (client.startsWith('ioredis')) return new library.Redis({ port: Number(port), host: '127.0.0.1' })
  const made = library.createClient({ url: `redis://127.0.0.1:${port}` })
  await made.connect()
  return made
}

await runs[what]()
console.log('ok')
process.exit(0)
