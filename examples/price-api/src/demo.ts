// `npm run demo`: API, aggregator and an indexer that makes up trades, with a Redis and a PostgreSQL of their own.
import { fork } from 'node:child_process'
import { connectRedis, readEnv, runMain } from 'example-service'
import { createCache, createFreshness } from 'sluice/cache'
import { openRedis } from 'sluice/redis'
import { startPostgres, startRedis } from 'sluice/testing'
import { Database } from './database.ts'
import { indexAsset, indexTrades, randomWalk } from './indexer.ts'

const [redisServer, postgres] = await runMain(() => Promise.all([startRedis(), startPostgres()]))
Object.assign(process.env, {
  ...{ REDIS_URL: redisServer.url, DATABASE_URL: postgres.url, DATA_SOURCES: 'kraken,sdex' },
  API_KEYS: process.env.API_KEYS ?? 'demo-key',
})
const database = new Database(postgres.url)
await database.prepare()
const client = connectRedis(readEnv(), () => undefined)
const redis = openRedis(client, { service: 'price-api' })
const parts = {
  database,
  cache: await createCache({ redis, redisDeadline: '1s' }),
  freshness: await createFreshness({ redis }),
}
const assetIds = ['XLM', 'BTC', 'ETH']
for (const assetId of assetIds)
  await indexAsset(parts, { assetId, code: assetId, issuer: 'native', decimals: 7, homeDomain: null })
const step = randomWalk(assetIds)
await indexTrades(parts, step())
setInterval(() => void indexTrades(parts, step()).catch((error) => console.error(error.message)), 1000)

const aggregator = fork(new URL('./aggregator-main.js', import.meta.url), {
  env: { ...process.env, PORT: '0', METRICS_PORT: '0' },
})
process.once('exit', () => aggregator.kill('SIGTERM'))
console.log(`curl 'http://localhost:${process.env.PORT ?? 3000}/v1/price?asset=XLM'`)
await import('./main.ts')
