import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Cluster, Redis } from 'ioredis'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { postgresStore } from '../stores/postgres/postgres-store.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import type { Store } from '../stores/store.ts'
import { storeOf } from '../stores/store-of.ts'
import { wrapStore } from '../stores/wrap-store.ts'
import { startCluster } from '../testing/servers/cluster.ts'
import { startPostgres } from '../testing/servers/postgres.ts'
import { startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createLimiter } from './create-limiter.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A store that can lose all it has. */
interface Losing {
  readonly store: Store
  empty(): Promise<unknown>
}

async function redis(): Promise<Losing> {
  const server = await startRedis()
  ends.push(() => server.stop())
  return { store: storeOf(opened(new Redis(server.port))), empty: () => server.cli('FLUSHALL') }
}

async function cluster(): Promise<Losing> {
  const servers = await startCluster()
  ends.push(() => servers.stop())
  const client = new Cluster(servers.nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
  return {
    store: storeOf(opened(client)),
    empty: async () => Promise.all((await servers.masters()).map((master) => master.cli('FLUSHALL'))),
  }
}

async function postgres(): Promise<Losing> {
  const server = await startPostgres()
  const pool = new pg.Pool({ connectionString: server.url, max: 4 })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const store = await postgresStore(pool)
  ends.push(
    () => server.stop(),
    () => pool.end(),
    () => store.close(),
  )
  return { store, empty: () => pool.query('TRUNCATE sluice_state') }
}

function opened(client: Redis | Cluster) {
  client.on('error', () => {})
  const handle = openRedis(client)
  ends.push(
    () => client.disconnect(),
    () => handle.close(),
  )
  return handle
}

const policy = {
  service: 's',
  rules: [{ name: 'tokens', key: 'query.who', limits: { amount: 1000, per: 'day' } }],
} as const

async function limiterOn(store: Store) {
  let marks = 0
  const { lossMark } = store.abilities!
  const read = async (shard: number, withinMs: number): Promise<number> => {
    const mark = await lossMark!.read(shard, withinMs)
    marks += 1
    return mark
  }
  const watched = wrapStore(store, { abilities: { lossMark: { shardOf: lossMark!.shardOf, read } } })
  const limiter = await createLimiter({ policy, store: watched, deadline: '5s', denyCache: false })
  ends.push(() => limiter.close())
  const left = async () => (await limiter.peek('k')).limits[0]!.remaining
  /** Reserves, and waits until the mark was read. */
  const reserve = async (cost: number) => {
    const before = marks
    const hold = await waitFor(async () => {
      const tried = await limiter.reserve('k', { cost })
      return tried.decision.degraded ? undefined : tried
    })
    await waitFor(() => marks > before, { describe: 'the mark to be read' })
    return hold
  }
  return { limiter, left, reserve }
}

test.each([
  ['Redis', redis],
  ['a Redis Cluster', cluster],
  ['PostgreSQL', postgres],
])('%s that has lost a young reservation charges what was used, once', { timeout: 60_000 }, async (_, start) => {
  const { store, empty } = await start()
  const { limiter, left, reserve } = await limiterOn(store)
  const hold = await reserve(400)
  const given = await reserve(100)
  await empty()
  await limiter.take('k', { cost: 7 })
  expect(await hold.settle(350)).toBe(true)
  expect(await hold.settle(350)).toBe(false)
  expect(await given.cancel()).toBe(false)
  expect(await left()).toBe(643)
})

test('a Redis that was restarted with its data charges nothing twice', { timeout: 60_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-'))
  ends.push(() => rmSync(dir, { recursive: true }))
  const server = await startRedis({ args: ['--dir', dir, '--appendonly', 'yes', '--appendfsync', 'always'] })
  ends.push(() => server.stop())
  const { limiter, left, reserve } = await limiterOn(storeOf(opened(new Redis(server.port))))
  const hold = await reserve(400)
  expect(await limiter.settle('k', hold.id, 100)).toBe(true)
  await server.restart()
  await waitFor(async () => !(await limiter.take('other')).degraded)
  expect(await hold.settle(350)).toBe(false)
  expect(await left()).toBe(900)
})
