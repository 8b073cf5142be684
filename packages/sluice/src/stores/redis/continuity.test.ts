import { Cluster, Redis } from 'ioredis'
import { afterEach, expect, it } from 'vitest'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import { startCluster } from '../../testing/servers/cluster.ts'
import { startRedis } from '../../testing/servers/redis.ts'
import { waitFor } from '../../testing/wait-for.ts'
import type { Continuity, Store } from '../store.ts'
import { storeOf } from '../store-of.ts'
import { openRedis } from './open-redis.ts'

const rule = compilePolicy({ service: 's', rules: [{ name: 'cap', limits: { amount: 5, per: 'day' } }] }).rules[0]!
const chargeOf = (subject: string) => ({ rule, subject, limits: rule.limitsFor(subject, undefined, 0), cost: 1 })

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function continuityOf(store: Store): Continuity {
  ends.push(() => store.close())
  return store.abilities!.continuity!
}

it('a Redis is intact since it was first asked, until it is restarted or wiped', async () => {
  const server = await startRedis()
  ends.push(() => server.stop())
  const client = new Redis(server.port)
  client.on('error', () => {})
  ends.push(() => client.disconnect())
  const continuity = continuityOf(storeOf(openRedis(client)))
  const place = continuity.shardOf(chargeOf('a'))
  const ask = () => waitFor(async () => continuity.intactSinceUs(place, 1000))
  const since = await ask()
  expect(await ask()).toBe(since)
  await server.cli('FLUSHALL')
  const afterWipe = await ask()
  expect(afterWipe).toBeGreaterThan(since)
  const connection = continuity.connection()
  await server.restart()
  expect(await ask()).toBeGreaterThan(afterWipe)
  expect(continuity.connection()).not.toBe(connection)
})

it('a cluster has a marker in each slot that is asked for, on the node that serves it', {
  timeout: 60_000,
}, async () => {
  const servers = await startCluster()
  ends.push(() => servers.stop())
  const client = new Cluster([{ host: '127.0.0.1', port: servers.nodes[0]!.port }])
  client.on('error', () => {})
  ends.push(() => client.disconnect())
  const continuity = continuityOf(storeOf(openRedis(client)))
  const charges = Array.from({ length: 20 }, (_, i) => chargeOf(`subject-${i}`))
  const places = charges.map((charge) => continuity.shardOf(charge))
  expect(new Set(places).size).toBeGreaterThan(15)
  const ask = () =>
    waitFor(() => Promise.all(places.map(async (place) => continuity.intactSinceUs(place, 2000)))) as Promise<number[]>
  const since = await ask()
  expect(await ask()).toEqual(since)
})
