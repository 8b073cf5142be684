import { Pool, type PoolConfig } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../testing/servers/postgres.ts'
import { sourceConformance } from '../../../testing/source-conformance.ts'
import { waitFor } from '../../../testing/wait-for.ts'
import { openPolicy } from '../../live/open-policy.ts'
import { postgresPolicy } from './postgres.ts'
import { createTableSql } from './postgres-table.ts'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})

afterAll(() => server?.stop())

function openPool(options: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: server.url, max: 30, connectionTimeoutMillis: 1000, ...options })
  pool.on('error', () => {})
  // The pool lets go of its clients before they have hung up.
  pool.on('connect', (client) => void client.on('error', () => {}))
  return pool
}

sourceConformance(
  { describe, it, beforeAll, afterAll },
  {
    name: 'postgresPolicy',
    start: async () => {
      const pool = openPool()
      await pool.query(createTableSql('sluice_policy', 'sluice_policy'))
      let down = false
      const lasting = { poll: 3_600_000, timeout: 1000 }
      return {
        open: (service) => postgresPolicy(pool, { service, ...lasting }),
        write: async (service, document) => void (await postgresPolicy(pool, { service }).archive.push(document)),
        writeNonsense: async (service) => void (await postgresPolicy(pool, { service }).archive.push(['nonsense'])),
        remove: async (service) => void (await pool.query('DELETE FROM sluice_policy WHERE service = $1', [service])),
        outage: {
          async begin() {
            down = true
            await server.kill('SIGINT')
          },
          async end() {
            if (down) await server.restart()
            down = false
          },
        },
        close: () => pool.end(),
      }
    },
  },
)

describe('postgresPolicy', () => {
  let pool: Pool
  const policy = (version: string, service = 'shop'): object => ({
    service,
    version,
    rules: [{ name: 'all', key: ['ip'], limits: { rpm: 10 } }],
  })

  beforeAll(() => {
    pool = openPool()
  })

  afterAll(() => pool.end())

  it('creates its table on request, also when many ask at once', async () => {
    const place = { service: 'shop', table: 'created', createTable: true }
    const sources = Array.from({ length: 8 }, () => postgresPolicy(pool, place))
    const revisions = await Promise.all(sources.map((source) => source.archive.push(policy('v1'))))
    expect(revisions.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('says that there is no table when it was not asked to create one', async () => {
    const source = postgresPolicy(pool, { service: 'shop', table: 'nowhere' })
    await expect(openPolicy(source)).rejects.toThrow(/"nowhere" does not exist/)
  })

  it('hears of a row that was written or changed by hand', async () => {
    const source = postgresPolicy(pool, { service: 'shop', table: 'by_hand', createTable: true, poll: 3_600_000 })
    await source.archive.push(policy('v1'))
    const live = await openPolicy(source)
    await pool.query('INSERT INTO by_hand VALUES ($1, 2, $2)', ['shop', policy('v2')])
    await waitFor(() => live.current.version === 'v2')
    await pool.query('UPDATE by_hand SET document = $1 WHERE revision = 2', [policy('v3')])
    await waitFor(() => live.current.version === 'v3')
    await live.close()
  })

  it('only polls when the pool has one connection', async () => {
    const single = openPool({ max: 1 })
    const place = { service: 'shop', table: 'single', createTable: true, poll: 20 }
    const source = postgresPolicy(single, place)
    await source.archive.push(policy('v1'))
    const live = await openPolicy(source)
    await source.archive.push(policy('v2'))
    await waitFor(() => live.current.version === 'v2')
    await live.close()
    await single.end()
  })

  it('takes any name for a table and a channel, and never as SQL', async () => {
    const names = { table: 'odd".schema; DROP', channel: `it's "loud"; --` }
    await pool.query('CREATE SCHEMA "odd"""')
    const place = { service: "o'brien", ...names, createTable: true, poll: 3_600_000 }
    const source = postgresPolicy(pool, place)
    await source.archive.push(policy('v1', "o'brien"))
    const live = await openPolicy(source)
    await source.archive.push(policy('v2', "o'brien"))
    await waitFor(() => live.current.version === 'v2')
    await live.close()
    expect(() => postgresPolicy(pool, { service: 's', table: 'a.b.c' })).toThrow(/table is "a.b.c"/)
    expect(() => postgresPolicy(pool, { service: 's', table: 'x'.repeat(64) })).toThrow(/1 to 63 bytes/)
    expect(() => postgresPolicy(pool, { service: 's', channel: 'a\0b' })).toThrow(/channel/)
    expect(() => postgresPolicy(pool, { service: '' })).toThrow(/service is ""/)
  })

  it('keeps every version, YAML as the document it says', async () => {
    const { archive } = postgresPolicy(pool, { service: 'shop', table: 'versions', createTable: true })
    expect(await archive.push('service: shop\nversion: v1\nrules: []\n')).toBe(1)
    expect(await archive.push(policy('v2'))).toBe(2)
    const history = await archive.history(10)
    expect(history.map(({ revision }) => revision)).toEqual([2, 1])
    expect(history[1]).toMatchObject({ document: { service: 'shop', version: 'v1' }, createdAt: expect.any(Date) })
    await expect(archive.push('a: [unclosed')).rejects.toMatchObject({ code: 'SLUICE_INVALID_POLICY' })
  })

  it('lets only one of several push after the same revision', async () => {
    const { archive } = postgresPolicy(pool, { service: 'shop', table: 'after', createTable: true })
    const after = (await archive.history(1))[0]?.revision ?? 0
    const pushes = await Promise.allSettled([1, 2, 3, 4].map((i) => archive.push(policy(`v${i}`), { after })))
    expect(pushes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const push of pushes)
      if (push.status === 'rejected') expect(push.reason).toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    await expect(archive.push(policy('late'), { after })).rejects.toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    const [newest] = await archive.history(1)
    expect(await archive.push(policy('next'), { after: newest!.revision })).toBeGreaterThan(newest!.revision)
  })

  it('ignores an older version that is written last', async () => {
    const place = { service: 'shop', table: 'late', createTable: true, poll: 3_600_000 }
    const source = postgresPolicy(pool, place)
    for (let i = 1; i <= 3; i++) await source.archive.push(policy(`v${i}`))
    await pool.query('DELETE FROM late WHERE revision = 2')
    const live = await openPolicy(source)
    await pool.query('INSERT INTO late VALUES ($1, 2, $2)', ['shop', policy('v2-late')])
    await postgresPolicy(pool, { ...place, service: 'other' }).archive.push(policy('other'))
    await source.archive.push(policy('v4'))
    await waitFor(() => live.current.version === 'v4')
    await live.close()
  })

  it('follows a server that hangs and comes back', async () => {
    const own = openPool({ connectionTimeoutMillis: 0 })
    const source = postgresPolicy(own, {
      service: 'shop',
      table: 'hangs',
      createTable: true,
      poll: 10,
      timeout: 300,
    })
    await source.archive.push(policy('v1'))
    const live = await openPolicy(source)
    // A backend that is born while the others are being stopped would not be.
    const listening = `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND state = 'idle'`
    await waitFor(async () => own.totalCount === 2 && (await pool.query(listening)).rows.length > 0)
    await server.freeze()
    try {
      await waitFor(() => live.status.lastError, { describe: 'the silence to be noticed' })
      expect(live.current.version).toBe('v1')
    } finally {
      server.thaw()
    }
    await waitFor(() => live.status.lastError === undefined, { describe: 'recovery' })
    await live.close()
    await own.end()
  })
})
