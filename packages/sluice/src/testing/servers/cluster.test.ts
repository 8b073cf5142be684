import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { type ClusterServers, startCluster } from './cluster.ts'
import { gone } from './gone.ts'

let cluster: ClusterServers
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster?.stop())

test('starts with three masters that share the slots, and a replica of each', async () => {
  expect(cluster.nodes).toHaveLength(6)
  expect(await cluster.masters()).toHaveLength(3)
  const owners = await Promise.all([0, 5461, 16_383].map((slot) => cluster.masterOf(slot)))
  expect(new Set(owners).size).toBe(3)
  const roles = await Promise.all(cluster.nodes.map(async (node) => (await node.info('replication')).role))
  expect(roles.sort()).toEqual(['master', 'master', 'master', 'slave', 'slave', 'slave'])
})

test('a slot on the move answers ASK and TRYAGAIN, and MOVED afterwards', async () => {
  const slot = await cluster.nodes[0]!.cli<number>('CLUSTER', 'KEYSLOT', '{a}')
  const from = await cluster.masterOf(slot)
  const to = (await cluster.masters()).find((node) => node !== from)!
  const keys = Array.from({ length: 10 }, (_, i) => `{a}${i}`)
  for (const key of keys) await from.cli('SET', key, key)

  const move = await cluster.beginMove(slot, from, to)
  expect(await move.step(4)).toBe(4)
  const answers = await Promise.all(
    keys.map((key) => from.cli<string>('GET', key).catch((error: Error) => error.message)),
  )
  expect(answers.filter((answer) => answer.startsWith(`ASK ${slot} 127.0.0.1:${to.port}`))).toHaveLength(4)
  expect(answers.filter((answer) => answer.startsWith('{a}'))).toHaveLength(6)
  await expect(from.cli('MGET', ...keys)).rejects.toThrow('TRYAGAIN')

  await cluster.endMove(move)
  expect(await cluster.masterOf(slot)).toBe(to)
  await expect(from.cli('GET', keys[0]!)).rejects.toThrow('MOVED')
  expect(await to.cli('MGET', ...keys)).toEqual(keys)

  await cluster.moveSlot(slot, to, from)
  expect(await from.cli('MGET', ...keys)).toEqual(keys)
  await cluster.settled()
})

test.each(['killed', 'frozen'] as const)(
  'a %s master is replaced, and the cluster can be made whole again',
  async (how) => {
    const former = await cluster.masterOf(100)
    await (how === 'killed' ? former.kill() : former.freeze())
    const promoted = async () => (await cluster.masterOf(100)) !== former
    await waitFor(promoted, { describe: 'a new master' })
    await cluster.settled()
    expect(await former.info('replication')).toMatchObject({ role: 'slave', master_link_status: 'up' })
    expect(await cluster.masters()).toHaveLength(3)
  },
)

test('leaves nothing behind', async () => {
  const pids = cluster.nodes.map(({ pid }) => pid)
  await cluster.stop()
  await gone(pids)
})
