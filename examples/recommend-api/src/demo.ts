// `npm run demo`: the service with a Redis and a PostgreSQL of its own, and something to decide about.
import { runMain } from 'example-service'
import { openPool } from 'example-service/postgres'
import { startPostgres, startRedis } from 'sluice/testing'
import { Database } from './data/database.ts'
import { parseEntity } from './data/entities.ts'

const [redis, postgres] = await runMain(() => Promise.all([startRedis(), startPostgres()]))
const pool = openPool(postgres.url)
const database = new Database(pool)
await database.prepare()
const offers = {
  welcome: { mandatory: true, priority: 10 },
  renewal: { paced: true, category: 'loans' },
  'gold-card': { category: 'cards', priority: 5 },
}
for (const [id, offer] of Object.entries(offers))
  await database.save('acme', 'offers', id, parseEntity('offers', offer))
const rule = { categories: ['cards'], field: 'customer.segment', values: ['gold'], fit: 1 }
await database.save('acme', 'rules', 'gold-only', parseEntity('rules', rule))
await database.saveCustomerData('acme', 'c1', 'customer_profile', { segment: 'gold', credit_score: 700 })
await pool.end()

Object.assign(process.env, { REDIS_URL: redis.url, DATABASE_URL: postgres.url })
console.log(`Redis at ${redis.url}, PostgreSQL at ${postgres.url}
curl http://localhost:${process.env.PORT ?? 3000}/v1/recommend -H 'x-tenant-id: acme' \\
  -H 'content-type: application/json' -d '{"customer_id":"c1"}'`)
await import('./main.ts')
