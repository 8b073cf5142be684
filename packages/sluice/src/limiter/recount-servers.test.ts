import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Recount, RecountPeriod, RecountTake } from '../stores/recount/recount.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import type { Store } from '../stores/store.ts'
import { storeOf } from '../stores/store-of.ts'
import { type PostgresServer, startPostgres } from '../testing/servers/postgres.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createLimiter } from './create-limiter.ts'
import type { Limiter } from './limiter.ts'

const cap = 5
const day = 86_400_000

function today(): RecountPeriod {
  const start = new Date(Math.floor(Date.now() / day) * day)
  const { signal } = new AbortController()
  return { limit: 'per-day', start, end: new Date(+start + day), amount: cap, cost: 1, signal }
}

const policy = {
  service: 'shop',
  rules: [{ name: 'cap', limits: { amount: cap, per: 'day' }, onStoreFailure: 'recount' }],
} as const

/** One replica of a service: its own limiter, store and connections, and what it delivered. */
interface Replica {
  readonly limiter: Limiter
  deliver(customer: string): Promise<boolean>
  close(): Promise<void>
}

describe('a cap whose source of truth is PostgreSQL', () => {
  let postgres: PostgresServer
  let redis: RedisServer
  let db: pg.Pool
  let replicas: Replica[] = []

  beforeAll(async () => {
    postgres = await startPostgres()
    db = new pg.Pool({ connectionString: postgres.url, max: 20 })
    db.on('error', () => {})
    await db.query(
      'create table delivered (customer text, day timestamptz, delivered int, primary key (customer, day))',
    )
  })
  afterAll(async () => {
    await db?.end()
    await postgres?.stop()
  })
  beforeEach(async () => {
    redis = await startRedis()
  })
  afterEach(async () => {
    await Promise.all(replicas.map((replica) => replica.close()))
    replicas = []
    redis.thaw()
    await redis.stop()
  })

  async function count(customer: string): Promise<number> {
    const { rows } = await db.query('select delivered from delivered where customer = $1', [customer])
    return rows[0]?.delivered ?? 0
  }

  /**
   * One statement: the row is locked before its count is compared. `count(*)` in its place would read an older
   * snapshot.
   */
  const take: RecountTake['take'] = async ([customer], { start, amount, cost }) => {
    const { rowCount } = await db.query(
      `insert into delivered as d select $1, $2, $4::int where $4::int <= $3::int
       on conflict (customer, day) do update set delivered = d.delivered + $4 where d.delivered + $4 <= $3`,
      [customer, start, amount, cost],
    )
    return rowCount === 1
  }

  async function started(recount: Recount, amount = 1): Promise<void> {
    for (let r = 0; r < amount; r++) {
      const client = new Redis(redis.port, { lazyConnect: true })
      client.on('error', () => {})
      const store: Store = storeOf(openRedis(client))
      const limiter = await createLimiter({
        policy,
        store,
        recount: { cap: recount },
        deadline: 5000,
        replicas: amount,
      })
      replicas.push({
        limiter: limiter as Limiter,
        async deliver(customer) {
          const decision = await limiter.take(customer)
          if (!decision.allowed) return false
          // The source has recorded what it decided itself.
          if (decision.by === 'recount' && typeof recount !== 'function') return true
          return take([customer], today(), '')
        },
        async close() {
          await limiter.close()
          await store.close()
          client.disconnect()
        },
      })
    }
    await waitFor(async () => (await replicas.at(-1)!.limiter.health()).ready)
  }

  const deliverMany = (customer: string, times: number): Promise<boolean[]> =>
    Promise.all(Array.from({ length: times }, (_, i) => replicas[i % replicas.length]!.deliver(customer)))

  it('is delivered exactly by 200 requests at once', async () => {
    await started({ take, count: ([customer]) => count(String(customer)) }, 3)
    const outcomes = await deliverMany('a', 200)
    expect(outcomes.filter(Boolean)).toHaveLength(cap)
    expect(await count('a')).toBe(cap)
  })

  it('is taken in units of its cost by the source', async () => {
    await started({ take })
    await redis.kill()
    const { limiter } = replicas[0]!
    const costs = [6, 3, 3, 2, 1]
    const allowed = []
    for (const cost of costs) allowed.push((await limiter.take('costly', { cost })).allowed)
    expect(allowed).toEqual([false, true, false, true, false])
    expect(await count('costly')).toBe(cap)
  })

  it('is delivered exactly when Redis is killed half-way, by three replicas with the atomic form', async () => {
    await started({ take, count: ([customer]) => count(String(customer)) }, 3)
    const first = deliverMany('b', 100)
    const killed = redis.kill()
    const second = deliverMany('b', 100)
    await killed
    const third = await deliverMany('b', 50)
    const outcomes = [...(await first), ...(await second), ...third]
    expect(outcomes.filter(Boolean)).toHaveLength(cap)
    expect(await count('b')).toBe(cap)
  })

  it('is delivered exactly when Redis is away from the start, and after it has come back empty', async () => {
    await started({ take, count: ([customer]) => count(String(customer)) }, 3)
    await redis.kill()
    expect((await deliverMany('c', 3)).filter(Boolean)).toHaveLength(3)
    await redis.restart()
    await waitFor(async () =>
      (await Promise.all(replicas.map(({ limiter }) => limiter.health()))).every(({ ready }) => ready),
    )
    expect((await deliverMany('c', 100)).filter(Boolean)).toHaveLength(2)
    expect(await count('c')).toBe(cap)
  })

  it('is not reset by a Redis that is wiped behind its connections', async () => {
    await started({ take, count: ([customer]) => count(String(customer)) }, 3)
    expect((await deliverMany('d', 3)).filter(Boolean)).toHaveLength(3)
    await redis.cli('FLUSHALL')
    expect((await deliverMany('d', 100)).filter(Boolean)).toHaveLength(2)
  })

  it('is decided by the source while Redis is frozen, within the deadline', async () => {
    await started({ take }, 2)
    expect((await deliverMany('e', 2)).filter(Boolean)).toHaveLength(2)
    await redis.freeze()
    expect((await deliverMany('e', 20)).filter(Boolean)).toHaveLength(3)
  })

  it.each(['restarted', 'wiped'])('is not reset by a Redis that is %s, where the source only counts', async (how) => {
    const customer = `f-${how}`
    await started(([key]) => count(String(key)))
    expect((await deliverMany(customer, 3)).filter(Boolean)).toHaveLength(3)
    await waitFor(async () => (await count(customer)) === 3)
    if (how === 'wiped') await redis.cli('FLUSHALL')
    else {
      await redis.restart()
      await waitFor(async () => (await replicas[0]!.limiter.health()).ready)
    }
    expect((await deliverMany(customer, 100)).filter(Boolean)).toHaveLength(2)
    const seen = await replicas[0]!.limiter.inspect(customer)
    expect(seen.limits[0]!.remaining).toBe(0)
  })

  it('is closed while both are away', async () => {
    await started({ take })
    await redis.kill()
    await postgres.freeze()
    try {
      const decision = await replicas[0]!.limiter.take('g')
      expect(decision).toMatchObject({ allowed: false, reason: 'unavailable', by: 'closed' })
    } finally {
      postgres.thaw()
    }
  })
})
