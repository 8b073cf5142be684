import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspectBuffer, readState } from 'sluice/shipper'
import { waitFor } from 'sluice/testing'
import { expect, test } from 'vitest'
import { capacityAt } from './src/load-table.ts'
import { type RunningAgent, runAgent, runCollector } from './src/processes.ts'

// The commands of the example run as their users run them, but on the sources of the library.
process.execArgv.push('--conditions=sluice-source', '--import', 'tsx')

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

const slow = { timeoutMs: 60_000 }
const quick = ['--backoff-ms', '20']

test('nothing is lost over all load levels, kills and an outage', { timeout: 150_000 }, async () => {
  const dir = join(mkdtempSync(join(tmpdir(), 'event-pooler-')), 'buffer')
  const port = await freePort()
  let collector = await runCollector(port, 50)
  const agents: RunningAgent[] = [runAgent(dir, collector.endpoint, quick)]
  const collected = new Set<string>()
  const remember = async () => {
    for (const id of (await collector.ids()).ids) collected.add(id)
  }
  const arrived = async () => (await collector.ids()).ids.length
  await waitFor(async () => (await arrived()) > 20, { ...slow, describe: 'the first events' })
  for (const load of [50, 70, 90, 97]) {
    await collector.load(load)
    const seen = async () => (await readState(dir))?.lastCapacity?.loadPercent === load
    await waitFor(seen, { ...slow, describe: `the agent to learn of ${load}%` })
  }
  // At 97% nothing is taken: everything waits on the disk.
  const atFull = await arrived()
  await waitFor(async () => (await inspectBuffer(dir)).pending > 50, { ...slow, describe: 'a backlog' })
  expect(await arrived()).toBe(atFull)
  await agents[0]?.kill()
  await collector.load(10)
  agents.push(runAgent(dir, collector.endpoint, quick))
  await waitFor(async () => (await arrived()) > atFull + 50, { ...slow, describe: 'the new agent to ship the backlog' })
  await remember()
  await collector.stop()
  const failing = async () => ((await readState(dir))?.consecutiveFailures ?? 0) >= 2
  await waitFor(failing, { ...slow, describe: 'failures' })
  collector = await runCollector(port, 50)
  await waitFor(async () => (await arrived()) > 0, { ...slow, describe: 'the events of the outage' })
  await agents[1]?.stop()
  const last = runAgent(dir, collector.endpoint, [...quick, '--every-ms', '1000'])
  const acknowledged = () => agents.flatMap((agent) => [...agent.acknowledged])
  await waitFor(
    async () => {
      await remember()
      return acknowledged().every((id) => collected.has(id))
    },
    { ...slow, describe: 'every acknowledged event to arrive' },
  )
  expect(acknowledged().length).toBeGreaterThan(100)
  await last.stop()
  await collector.stop()
})

test('the table of load levels is that of the original', () => {
  const at = (load: number) => {
    const { ready, maxBatchSize, delayBetweenBatches } = capacityAt(load)
    return ready ? [maxBatchSize, delayBetweenBatches] : 'not ready'
  }
  expect([0, 39.9, 40, 60, 80, 94.9, 95].map(at)).toEqual([
    ...[[100, 100], [100, 100], [50, 1000], [20, 2000], [10, 5000], [10, 5000], 'not ready'],
  ])
})
