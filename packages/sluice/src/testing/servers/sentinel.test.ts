import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { gone } from './gone.ts'
import { type SentinelServers, startSentinel } from './sentinel.ts'

let topology: SentinelServers
beforeAll(async () => {
  topology = await startSentinel()
})
afterAll(() => topology?.stop())

test('starts with one master, two replicas in step and three sentinels', async () => {
  const master = await topology.master()
  expect(topology.sentinels).toHaveLength(3)
  expect((await master.info('replication')).connected_slaves).toBe('2')
})

test.each(['killed', 'frozen'] as const)(
  'a %s master is replaced, and the topology can be made whole again',
  async (how) => {
    const former = await topology.master()
    await (how === 'killed' ? former.kill() : former.freeze())
    await waitFor(async () => (await topology.master()) !== former, { describe: 'a new master' })
    const master = await topology.settled()
    expect(master).not.toBe(former)
    expect(await former.info('replication')).toMatchObject({ role: 'slave', master_port: String(master.port) })
  },
)

test('leaves nothing behind', async () => {
  const pids = topology.nodes.map(({ pid }) => pid)
  await topology.stop()
  await gone(pids)
})
