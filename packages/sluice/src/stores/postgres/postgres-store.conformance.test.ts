import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { type PostgresServer, startPostgres } from '../../testing/servers/postgres.ts'
import { storeConformance } from '../../testing/store-conformance.ts'
import { startTcpProxy } from '../../testing/tcp-proxy.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { postgresStore } from './postgres-store.ts'

function poolOf(server: PostgresServer, max = 8): pg.Pool {
  const pool = new pg.Pool({ connectionString: server.url, max })
  // Connections that are being closed may still receive that the server stops.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

storeConformance(
  { afterAll, beforeAll, describe, it },
  {
    name: 'postgresStore',
    abilities: ['keepsDeadlines', 'lossMark'],
    start: async () => {
      const server = await startPostgres()
      const pool = poolOf(server)
      const store = await postgresStore(pool)
      const stop = async (): Promise<void> => {
        await store.close()
        await pool.end()
        await server.stop()
      }
      return { store, stop }
    },
  },
)

describe('counters in PostgreSQL', () => {
  let server: PostgresServer
  const pools: pg.Pool[] = []
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    await server.stop()
  })
  const replica = async (table: string, max = 4) => {
    const pool = poolOf(server, max)
    pools.push(pool)
    const store = await postgresStore(pool, { table })
    const policy = { service: 's', rules: [{ name: 'r', limits: { rph: 100 }, onStoreFailure: 'closed' as const }] }
    const limiter = await createLimiter({ policy, store, deadline: '20s', denyCache: false })
    return { pool, store, limiter }
  }

  it('are exact over replicas that ask for the same and for many keys at once, and swept while they do', async () => {
    const replicas = await Promise.all([replica('shared'), replica('shared'), replica('shared')])
    const keys = ['a', 'b', 'c', 'd']
    let isSweeping = true
    const sweep = async (): Promise<void> => {
      const pool = poolOf(server, 1)
      pools.push(pool)
      while (isSweeping)
        await pool.query('DELETE FROM shared WHERE expires_us < extract(epoch FROM clock_timestamp()) * 1000000')
    }
    const swept = sweep()
    const taken = replicas.flatMap(({ limiter }) =>
      Array.from({ length: 400 }, async (_, i) => {
        const key = keys[i % keys.length]!
        const { allowed, failure } = await limiter.take(key)
        return { key, allowed, failure }
      }),
    )
    const decided = await Promise.all(taken)
    isSweeping = false
    await swept
    expect([...new Set(decided.map(({ failure }) => failure))]).toEqual([undefined])
    for (const key of keys) expect(decided.filter((each) => each.key === key && each.allowed)).toHaveLength(100)
    await Promise.all(replicas.map(({ limiter }) => limiter.close()))
  })

  it('of one moment are one transaction', async () => {
    const { pool, limiter } = await replica('together')
    await limiter.take('first')
    await Promise.all(Array.from({ length: 200 }, (_, i) => limiter.take(`k${i}`)))
    const { rows } = await pool.query('SELECT count(DISTINCT xmin::text) AS transactions FROM together')
    expect(Number(rows[0].transactions)).toBeLessThanOrEqual(5)
    await limiter.close()
  })

  it('that have expired are removed, and those in use are not', async () => {
    const { pool, store } = await replica('swept')
    await store.close()
    await pool.query("INSERT INTO swept SELECT 'old' || i, 'x', 1 FROM generate_series(1, 12000) AS i")
    await pool.query("INSERT INTO swept VALUES ('new', 'x', 9000000000000000)")
    const sweeping = await postgresStore(pool, { table: 'swept', sweep: 5 })
    const count = async (like: string): Promise<number> =>
      Number((await pool.query('SELECT count(*) AS n FROM swept WHERE key LIKE $1', [like])).rows[0].n)
    await waitFor(async () => (await count('old%')) === 0)
    expect(await count('new')).toBe(1)
    await sweeping.close()
  })

  it('fail by kind, and a decision is not charged when the database is gone', async () => {
    const { pool, store } = await replica('failing', 1)
    const held = await pool.connect()
    const policy = { service: 's', rules: [{ name: 'r', limits: { rph: 5 }, onStoreFailure: 'closed' as const }] }
    const hasty = await createLimiter({ policy, store, deadline: 500 })
    const patient = await createLimiter({ policy, store, deadline: '30s' })
    expect(await hasty.take('k')).toMatchObject({ allowed: false, failure: 'timeout' })
    held.release()
    expect(await patient.take('k')).toMatchObject({ allowed: true, limits: [{ remaining: 4 }] })
    await hasty.close()
    await patient.close()
  })

  it('are decided on again when the network has lost connections without a sign, and the store closes', async () => {
    const proxy = await startTcpProxy({ targetPort: server.port })
    const pool = new pg.Pool({ host: '127.0.0.1', port: proxy.port, user: 'test', database: 'postgres', max: 6 })
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    const policy = { service: 's', rules: [{ name: 'r', limits: { rph: 100 }, onStoreFailure: 'closed' as const }] }
    const store = await postgresStore(pool, { table: 'silent' })
    const limiter = await createLimiter({ policy, store, deadline: 300 })
    const take = (i: number) => limiter.take(`k${i}`)
    const all = () => Promise.all(Array.from({ length: 20 }, (_, i) => take(i)))
    await waitFor(async () => (await all()).every(({ allowed }) => allowed))
    proxy.dropReplies(true, { thenClose: false })
    for (let round = 0; round < 3; round++)
      expect(
        (await all()).every(({ allowed }) => !allowed),
        `round ${round}`,
      ).toBe(true)
    // What was asked stays without an answer for ever; new connections work.
    await proxy.resume()
    await waitFor(async () => (await all()).every(({ allowed }) => allowed))
    proxy.dropReplies(true, { thenClose: false })
    await all()
    await limiter.close()
    await store.close()
    await proxy.close()
    await pool.end()
  })
})
