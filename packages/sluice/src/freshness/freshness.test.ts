import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPresence } from '../presence/index.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type ClusterServers, startCluster } from '../testing/servers/cluster.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createFreshness } from './create-freshness.ts'

let cluster: ClusterServers
let client: Cluster

beforeAll(async () => {
  cluster = await startCluster()
  client = new Cluster(cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
  client.on('error', () => undefined)
}, 120_000)
afterAll(async () => {
  client.disconnect()
  await cluster.stop()
})

test('reports which data source is late and for how long, and which never reported, on Cluster too', async () => {
  const freshness = await createFreshness({
    redis: openRedis(client, { reports: false }),
    sources: ['expected'],
    redisDeadline: '5s',
  })
  await freshness.report('binance / {eu}', '60s')
  await freshness.report('late', '1ms')
  await waitFor(async () => (await freshness.read()).find(({ source }) => source === 'late')!.staleMs > 10)
  expect((await freshness.read()).map(({ source, stale }) => [source, stale])).toEqual([
    ['binance / {eu}', false],
    ['expected', true],
    ['late', true],
  ])
  await expect(freshness.report('', '1s')).rejects.toThrow('use a name')
  await freshness.forget('late')
  expect((await freshness.read()).map(({ source }) => source)).toEqual(['binance / {eu}', 'expected'])
  const { ready, warnings } = await freshness.health()
  expect({ ready, warnings }).toEqual({ ready: true, warnings: ['The data source expected has never reported.'] })
  expect(freshness.stats()).toMatchObject({ reports: 2, failures: 0 })
  expect(() => freshness.on('report' as never, () => {})).toThrow('did you mean "reported"')
  await freshness.close({ within: '1s' })
  await expect(freshness.read()).rejects.toThrow('The freshness is closed; make a new one with createFreshness.')
  expect(await freshness.health()).toMatchObject({ ready: false, reasons: ['The freshness is closed.'] })
})

test('presence works on Cluster: channels in any slot, and the death of a process', { timeout: 120_000 }, async () => {
  const options = { redis: openRedis(client, { reports: false }), redisDeadline: '5s', grace: '0ms' } as const
  const [a, b] = [await createPresence(options), await createPresence(options)]
  for (let i = 0; i < 30; i++) await (i % 2 ? a : b).join(`channel ${i}`, 'ann', { i })
  for (let i = 0; i < 30; i++) expect(await a.list(`channel ${i}`)).toEqual([{ id: 'ann', data: { i } }])
  await b.close()
  for (let i = 0; i < 30; i++) expect(await a.count(`channel ${i}`)).toBe(i % 2)
  await a.close()
})
