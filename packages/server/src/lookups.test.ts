import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type PostgresServer, startPostgres } from 'sluice/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { resolveConfig } from './config/config.ts'
import { remembered } from './lookups.ts'
import { openLimiter } from './open-limiter.ts'
import { closeAll, type Opened } from './opened.ts'
import { explainRequest } from './policy/explain-request.ts'
import { send, startDaemon } from './testing/started.ts'

let server: PostgresServer
let policy: string
beforeAll(async () => {
  server = await startPostgres()
  policy = join(await mkdtemp(join(tmpdir(), 'sluice-lookups-')), 'sluice.yaml')
  writeFileSync(
    policy,
    'service: shop\nrules: [{ name: r, key: context.tenant, tier: { lookup: plans, default: free } }]\n',
  )
  const pool = new pg.Pool({ connectionString: server.url })
  await pool.query('CREATE TABLE customer_plans (key text PRIMARY KEY, tier text)')
  await pool.query("INSERT INTO customer_plans VALUES ('acme', 'enterprise')")
  await pool.end()
})
afterAll(() => server?.stop())

async function opened<T>(
  flags: Record<string, string>,
  use: (open: Awaited<ReturnType<typeof openLimiter>>) => Promise<T>,
) {
  const all: Opened = []
  try {
    return await use(await openLimiter(resolveConfig({ policy, ...flags }, { DATABASE_URL: server.url }), all))
  } finally {
    await closeAll(all)
  }
}

it('reads tiers from a table of the database', async () => {
  await opened({ lookup: 'plans=postgres:customer_plans' }, async ({ limiter }) => {
    expect((await limiter.take('acme')).limits[0]).toMatchObject({ amount: 10_000 })
    expect((await limiter.take('nobody')).limits[0]).toMatchObject({ amount: 100 })
    expect(await limiter.inspect('acme')).toMatchObject({ tierUnknown: false, limits: [{ amount: 10_000 }] })
  })
})

it('accepts the policy without a table, and does not know the tier', async () => {
  await opened({}, async ({ limiter, policy }) => {
    expect((await limiter.take('acme')).limits[0]).toMatchObject({ amount: 100 })
    expect(await limiter.inspect('acme')).toMatchObject({ tierUnknown: true, limits: [] })
    const request = { method: 'GET', path: '/', headers: {}, context: { tenant: 'acme' } }
    expect(await explainRequest(limiter, policy, request)).toMatchObject({
      rules: [{ tierUnknown: true, why: expect.stringContaining('the lookup plans, which is not here') }],
      decision: undefined,
    })
  })
})

it('tries a policy with the tiers of the table, or says that it does not know them', async () => {
  const tried = async (flags: Record<string, string>) => {
    const daemon = await startDaemon({ policy, ...flags }, { DATABASE_URL: server.url })
    try {
      const request = { path: '/', context: { tenant: 'acme' } }
      await send(`${daemon.url}/v1/check`, 'POST', { checks: Array(101).fill({ request }) })
      const answer = await send(`${daemon.url}/v1/policy/try`, 'POST', readFileSync(policy, 'utf8'))
      return answer.body as { denied: object; notes: string[] }
    } finally {
      await daemon.close()
    }
  }
  expect(await tried({ lookup: 'plans=postgres:customer_plans' })).toMatchObject({
    denied: { running: 0, tried: 0 },
    notes: [],
  })
  expect(await tried({})).toMatchObject({
    denied: { running: 1, tried: 1 },
    notes: [expect.stringContaining('--lookup plans=postgres:TABLE')],
  })
})

it('asks a table once for a key, and no more once it did not answer', async () => {
  const asked: string[] = []
  const plans = async (key: string) => {
    asked.push(key)
    if (key === 'fails') throw new Error('away')
    return 'free'
  }
  const lookups = remembered({ plans })
  expect([await lookups.plans!('a'), await lookups.plans!('a')]).toEqual(['free', 'free'])
  await expect(lookups.plans!('fails')).rejects.toThrow('away')
  expect([await lookups.plans!('b'), await lookups.plans!('a')]).toEqual([undefined, 'free'])
  expect(asked).toEqual(['a', 'fails'])
})

it.each(['plans', 'plans=mysql:t', 'plans=postgres:a; DROP TABLE b'])('refuses --lookup %s', (lookup) => {
  expect(() => resolveConfig({ policy, lookup }, { DATABASE_URL: 'postgres://x' })).toThrow('NAME=postgres:TABLE')
  expect(() => resolveConfig({ policy, lookup: 'plans=postgres:t' }, {})).toThrow('DATABASE_URL')
})
