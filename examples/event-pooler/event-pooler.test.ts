import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspectBuffer, readState } from 'sluice/shipper'
import { reservePort, waitFor } from 'sluice/testing'
import { expect, test } from 'vitest'

// The programs run as they were built.
import { collectedIds, path, runAgent, runCollector, runSluiceCollect } from './src/processes.ts'
import { twentyAgents } from './src/twenty-agents.ts'

const tempDir = () => mkdtempSync(join(tmpdir(), 'event-pooler-'))
const slow = { timeoutMs: 60_000 }
const quick = { BACKOFF_BASE_MS: '10' }

test('nothing is lost over all load levels, kills and an outage', { timeout: 150_000 }, async () => {
  const home = tempDir()
  const [dir, file] = [join(home, 'buffer'), join(home, 'collected.ndjson')]
  const { port, release } = await reservePort()
  await release()
  let collector = await runCollector(port, file, 50)
  const agents = [runAgent(dir, collector.endpoint, quick)]
  const arrived = async () => (await collectedIds(file)).length
  await waitFor(async () => (await arrived()) > 20, { ...slow, describe: 'the first events' })
  for (const [load, batch] of [
    [50, 50],
    [70, 20],
    [90, 10],
    [100, 0],
  ] as const) {
    await collector.load(load)
    const seen = async () => {
      const capacity = (await readState(dir)).lastCapacity
      return batch === 0 ? capacity?.ready === false : capacity?.maxBatchSize === batch
    }
    await waitFor(seen, { ...slow, describe: `the agent to learn of ${load}%` })
  }
  // At 100% nothing is accepted: all events stay on the disk.
  const atFull = await arrived()
  await waitFor(async () => (await inspectBuffer(dir)).pending > 50, { ...slow, describe: 'a backlog' })
  expect(await arrived()).toBe(atFull)
  await agents[0]?.kill()
  await collector.load(10)
  agents.push(runAgent(dir, collector.endpoint, quick))
  await waitFor(async () => (await arrived()) > atFull + 50, { ...slow, describe: 'the new agent to ship the backlog' })
  await collector.stop()
  const failing = async () => (await readState(dir)).consecutiveFailures >= 2
  await waitFor(failing, { ...slow, describe: 'failures' })
  expect(agents[1]?.logged('flush_failed')).toBeGreaterThan(0)
  const before = await arrived()
  collector = await runCollector(port, file, 50)
  await waitFor(async () => (await arrived()) > before, { ...slow, describe: 'the events of the outage' })
  await agents[1]?.stop()
  const last = runAgent(dir, collector.endpoint, { ...quick, EVENT_EVERY_MS: '1000' })
  const acknowledged = agents.flatMap((agent) => agent.acknowledged())
  const all = async () => {
    const collected = new Set(await collectedIds(file))
    return acknowledged.every((id) => collected.has(id))
  }
  await waitFor(all, { ...slow, describe: 'every acknowledged event to arrive' })
  expect(acknowledged.length).toBeGreaterThan(100)
  await last.stop()
  await collector.stop()
})

test('twenty agents after an outage send no faster than sluice collect declares for all of them', {
  timeout: 120_000,
}, async () => {
  const home = tempDir()
  const file = join(home, 'collected.ndjson')
  // Until it is released, nothing answers on this port, and no server of another test can listen there.
  const { port, release } = await reservePort()
  const agents = await twentyAgents(home, `http://127.0.0.1:${port}${path}`, 300)
  await release()
  const collector = await runSluiceCollect(port, file)
  const { events, tookMs } = await agents.drained()
  await agents.close()
  await collector.stop()
  const arrived = await collectedIds(file)
  expect(new Set(arrived)).toEqual(new Set(agents.acknowledged))
  expect(arrived).toHaveLength(events)
  // 100 events every 50 ms for all; each agent sends its first batch before it can know how many there are. Without
  // the division by their number each would be done after 0.1 s.
  expect(tookMs).toBeGreaterThan(((events - 20 * 100) / 100) * 50 * 0.5)
})

test.each([
  ['sluice collect', runSluiceCollect],
  ['the collector with its own code', (port: number, file: string) => runCollector(port, file, 1)],
])(
  '%s: an agent that sends more than its minute allows keeps the rest; one that does not say who it is is turned away',
  async (_, run) => {
    const file = join(tempDir(), 'collected.ndjson')
    const { port, release } = await reservePort()
    await release()
    const collector = await run(port, file)
    const send = async (count: number, first: number, headers: Record<string, string>): Promise<number> => {
      const events = Array.from({ length: count }, (_, n) => ({ id: `a-${first + n}`, data: n }))
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
      return (await fetch(`http://127.0.0.1:${port}${path}`, { ...init, body: JSON.stringify({ events }) })).status
    }
    expect(await send(10, 0, {})).toBe(403)
    const agent = { 'x-agent-id': 'a', 'x-event-count': '1' }
    expect([await send(1000, 0, agent), await send(1000, 1000, agent), await send(1000, 2000, agent)]).toEqual([
      200, 200, 429,
    ])
    expect(await collectedIds(file)).toHaveLength(2000)
    await collector.stop()
  },
)
