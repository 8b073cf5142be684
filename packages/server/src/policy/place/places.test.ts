import pg from 'pg'
import { startCluster, startPostgres, startRedis, startSentinel } from 'sluice/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { send, startDaemon } from '../../testing/started.ts'

const document = (limit: number, service: string): string =>
  `service: ${service}\nrules: [{ name: r, limits: { rpd: ${limit} } }]\n`
const stops: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
})

async function amount(url: string): Promise<number | undefined> {
  const { body } = await send(`${url}/v1/check`, 'POST', { key: 'k', rule: 'r' })
  return (body as { limits?: { amount: number }[] }).limits?.[0]?.amount
}

describe('the daemon on real servers', () => {
  test.each(['sentinel', 'cluster'] as const)('counts on a Redis %s by its URL', async (kind) => {
    const servers = kind === 'sentinel' ? await startSentinel() : await startCluster()
    stops.push(() => servers.stop())
    const daemon = await startDaemon({ redis: urlOf(servers) })
    stops.push(() => daemon.close())
    const take = async () =>
      (await send(`${daemon.url}/v1/check`, 'POST', { key: 'k', rule: 'per-user', cost: 3 })).body as {
        allowed: boolean
        degraded: boolean
      }
    expect(await take()).toMatchObject({ allowed: true, degraded: false })
    expect(await take()).toMatchObject({ allowed: false, degraded: false })
    expect((await send(`${daemon.url}/v1/stats`, 'GET')).body).toMatchObject({ store: { name: 'redis', ok: true } })
  })

  test('creates nothing in a database of the environment, and follows a policy there once there is one', async () => {
    const postgres = await startPostgres()
    stops.push(() => postgres.stop())
    const pool = new pg.Pool({ connectionString: postgres.url })
    // Its connection may still be closing when the server stops.
    pool.on('error', () => {})
    stops.push(() => pool.end())
    const daemon = await startDaemon({}, { DATABASE_URL: postgres.url, SLUICE_SERVICE: 'example' })
    stops.push(() => daemon.close())
    expect((await send(`${daemon.url}/v1/check`, 'POST', { key: 'k', rule: 'per-user' })).status).toBe(200)
    const tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    expect((await pool.query(tables)).rows).toEqual([])
    // Named as the place of the policy, it gets the table; without a document that daemon does not start.
    await expect(startDaemon({ policy: `${postgres.url}?service=example` })).rejects.toThrow('there is no document')
    expect((await pool.query(tables)).rows).toEqual([{ tablename: 'sluice_policy' }])
    expect((await send(`${daemon.url}/v1/policy`, 'PUT', document(7, 'example'))).body).toMatchObject({ pushed: true })
    await expect.poll(() => amount(daemon.url)).toBe(7)
  })

  test('a policy in Redis is pushed by one daemon and followed by another', async () => {
    const redis = await startRedis()
    stops.push(() => redis.stop())
    await redis.cli('SET', 'sluice:policy:shop', document(1, 'shop'))
    const policy = `${redis.url}?service=shop`
    const [a, b] = await Promise.all([startDaemon({ policy }), startDaemon({ policy })])
    stops.push(
      () => a.close(),
      () => b.close(),
    )
    expect(await amount(b.url)).toBe(1)
    expect((await send(`${a.url}/v1/policy`, 'PUT', document(9, 'shop'))).status).toBe(200)
    await expect.poll(() => amount(b.url)).toBe(9)
  })
})

function urlOf(servers: Awaited<ReturnType<typeof startSentinel>> | Awaited<ReturnType<typeof startCluster>>): string {
  if ('sentinels' in servers)
    return `redis+sentinel://${servers.sentinels.map(({ port }) => `127.0.0.1:${port}`).join()}/${servers.name}`
  return `redis+cluster://${servers.nodes.map(({ port }) => `127.0.0.1:${port}`).join()}`
}
