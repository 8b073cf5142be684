// `npm run demo`: the service with a Redis and a MongoDB of its own.
import { runMain } from 'example-service'
import { startMongod, startRedis } from 'sluice/testing'

await runMain(async () => {
  const [redis, mongod] = await Promise.all([startRedis(), startMongod({ replicaSet: 1 })])
  if (!mongod.available) throw new Error(mongod.why)
  Object.assign(process.env, { REDIS_URL: redis.url, MONGODB_URL: mongod.url })
  console.log(`Redis at ${redis.url}, MongoDB at ${mongod.url}
curl -i http://localhost:${process.env.PORT ?? 3000}/v1/analyze -H 'content-type: application/json' \\
  -d '{"tenant_id":"client-corp","language":"en","text":"I love it"}'`)
  await import('./main.ts')
})
