import { Cluster, Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { slotOf } from '../redis/slots.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { startCluster } from '../testing/servers/cluster.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { type Cache, createCache, defineKeys, key } from './index.ts'

const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s' }) })
const xlm = keys.price('XLM')
const log = '{sluice:#cache/default/replicated/#log}'

let master: RedisServer
let replica: RedisServer
let client: Redis
let cache: Cache

beforeAll(async () => {
  master = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] })
  replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${master.port}`] })
  await waitFor(async () => (await replica.info('replication')).master_link_status === 'up', { timeoutMs: 30_000 })
  client = new Redis(master.port)
  cache = await createCache({
    redis: openRedis(client, { reports: false }),
    name: 'replicated',
    proof: '100ms',
    redisDeadline: '2s',
  })
})
afterEach(() => replica.thaw())
afterAll(async () => {
  await cache.close()
  client.disconnect()
  await Promise.all([replica.stop(), master.stop()])
})

const sequenceIn = async (server: RedisServer) => Number(await server.cli('HGET', log, 'sequence'))

test.each(['fast', 'strict'] as const)(
  'a %s invalidation that waits is in the replica when it returns',
  async (mode) => {
    for (let i = 0; i < 10; i++) {
      expect(await cache.invalidate(xlm, { mode, wait: 1 })).toEqual({ sent: true })
      expect(await sequenceIn(replica)).toBe(await sequenceIn(master))
      if (mode === 'strict') break
    }
  },
)

test('it is not acknowledged while the replica does not have it', async () => {
  const before = await sequenceIn(master)
  await replica.freeze()
  let isDone = false
  const invalidating = cache.invalidate(xlm, { wait: 1 }).then((receipt) => {
    isDone = true
    return receipt
  })
  await waitFor(async () => (await sequenceIn(master)) > before)
  // The master has it, and answers others and this cache; only the acknowledgement waits.
  expect(await cache.getOrFetch(keys.price('ADA'), () => 'fetched')).toBe('fetched')
  expect(isDone).toBe(false)
  replica.thaw()
  expect(await invalidating).toEqual({ sent: true })
  expect(await sequenceIn(replica)).toBe(await sequenceIn(master))
})

test('it is rejected while the replica is away, in either mode, and this process drops the old value nevertheless', async () => {
  await cache.getOrFetch(xlm, () => 'old')
  await replica.kill()
  await waitFor(async () => (await master.info('replication')).connected_slaves === '0')
  // Together: each waits for its whole deadline.
  await Promise.all(
    (['fast', 'strict'] as const).map((mode) =>
      expect(cache.invalidate(xlm, { mode, wait: 1 })).rejects.toMatchObject({
        code: 'SLUICE_STORE_FAILED',
        transient: true,
      }),
    ),
  )
  expect(await cache.getOrFetch(xlm, () => 'new')).toBe('new')
  expect(await cache.invalidate(xlm)).toEqual({ sent: true })
})

test('an invalid number of replicas is refused', async () => {
  for (const wait of [-1, 1.5, Number.NaN, '1' as never])
    await expect(cache.invalidate(xlm, { wait })).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION' })
})

test('on Cluster it waits for the replica of the node that has the log, not of any node', {
  timeout: 60_000,
}, async () => {
  const cluster = await startCluster()
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const redis = new Cluster(nodes)
  const clustered = await createCache({
    redis: openRedis(redis, { reports: false }),
    name: 'replicated',
    redisDeadline: '2s',
  })
  try {
    expect(await clustered.invalidate(xlm, { wait: 1 })).toEqual({ sent: true })
    const owner = await cluster.masterOf(slotOf(log))
    const isReplica = async (node: RedisServer) => (await node.info('replication')).master_port === String(owner.port)
    const follows = await Promise.all(cluster.nodes.map(isReplica))
    await cluster.nodes.find((_, i) => follows[i])!.freeze()
    const impatient = await createCache({
      redis: openRedis(redis, { reports: false }),
      name: 'replicated',
      redisDeadline: '300ms',
    })
    await Promise.all(
      Array.from({ length: 6 }, () =>
        expect(impatient.invalidate(xlm, { wait: 1 })).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' }),
      ),
    )
    await impatient.close()
    for (const node of cluster.nodes) if (node.frozen) node.thaw()
    // A replica that was frozen has to catch up first.
    const isConfirmed = () =>
      clustered.invalidate(xlm, { wait: 1 }).then(
        () => true,
        () => false,
      )
    await waitFor(isConfirmed, { timeoutMs: 30_000 })
  } finally {
    await clustered.close()
    redis.disconnect()
    await cluster.stop()
  }
})
