import { expect, test } from 'vitest'
import { type CrashMode, type ModelFiles, modelFiles } from '../testing/shipper/model-files.ts'
import { createShipper } from './create-shipper.ts'
import type { OutgoingEvent } from './flush/transport.ts'
import { thisProcess } from './owner/process-identity.ts'

let pid = 5_000_000
/** A process that no longer exists, so that its lock and segments can be taken over. */
const deadProcess = () => ({ ...thisProcess(), pid: pid++, started: 1 })

const batch = 4

interface Server {
  readonly got: Map<string, number>
  readonly batches: string[][]
}

/** Stores events in groups and flushes in between, until the file system reports that the process is dead. */
async function live(fs: ModelFiles, server: Server, acknowledged: Set<string>, rounds = 4): Promise<void> {
  const shipper = await createShipper({ ...optionsOf(fs, server), segmentBytes: 600 })
  for (let round = 0; round < rounds; round++) {
    const shipped = Array.from({ length: 5 }, (_, i) =>
      shipper.ship({ round, i, text: 'x'.repeat(40) }).then(
        (id) => acknowledged.add(id),
        () => undefined,
      ),
    )
    await Promise.all(shipped)
    if (round % 2 === 1) await shipper.flush().catch(() => undefined)
  }
  await shipper.close().catch(() => undefined)
}

function optionsOf(fs: ModelFiles, server: Server) {
  return {
    dir: '/buffer',
    fs,
    flushInterval: false as const,
    maxBatchEvents: batch,
    identity: deadProcess(),
    send: async (events: readonly OutgoingEvent[]) => {
      server.batches.push(events.map(({ id }) => id))
      for (const { id } of events) server.got.set(id, (server.got.get(id) ?? 0) + 1)
    },
    capacity: async () => ({ ready: true, maxBatchSize: batch, delayBetweenBatches: 0 }),
  }
}

function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Every second checkpoint finds no space; segments that are shipped are removed to make some. */
function withoutSpace(fs: ModelFiles): ModelFiles {
  let synced = 0
  fs.fault = (operation, path) =>
    operation === 'datasync' && path.includes('checkpoint-') && synced++ % 2 === 1 ? { code: 'ENOSPC' } : undefined
  return fs
}

async function stepsOfOneLife(isFull: boolean): Promise<number> {
  const fs = isFull ? withoutSpace(modelFiles()) : modelFiles()
  await live(fs, { got: new Map(), batches: [] }, new Set())
  return fs.steps
}

test.each<[CrashMode, 'with space' | 'on a full disk']>([
  ['drop', 'with space'],
  ['keep', 'with space'],
  ['torn', 'with space'],
  ['keep', 'on a full disk'],
  ['torn', 'on a full disk'],
])('a crash at any step loses nothing acknowledged, and reports nothing as lost: %s, %s', async (mode, space) => {
  const isFull = space === 'on a full disk'
  const steps = await stepsOfOneLife(isFull)
  expect(steps).toBeGreaterThan(100)
  for (let step = 0; step <= steps; step++) {
    const fs = isFull ? withoutSpace(modelFiles()) : modelFiles()
    const server: Server = { got: new Map(), batches: [] }
    const acknowledged = new Set<string>()
    fs.crashAt = step
    await live(fs, server, acknowledged).catch(() => undefined)
    const after = fs.afterCrash(mode, random(step))
    const shipper = await createShipper(optionsOf(after, server))
    const lost: unknown[] = []
    shipper.on('lost', (event) => lost.push(event))
    const report = await shipper.flush()
    const missing = [...acknowledged].filter((id) => !server.got.has(id))
    expect({ step, missing, lost, outcome: report.outcome, pending: report.pending }).toEqual({
      ...{ step, missing: [], lost: [], outcome: 'drained', pending: 0 },
    })
    const twice = [...server.got.values()].filter((times) => times > 1).length
    if (!isFull) expect(twice, `step ${step}: at most one batch is sent again`).toBeLessThanOrEqual(batch)
    await shipper.close()
  }
})

test('a power cut right after the first event does not lose the directory', async () => {
  const fs = modelFiles()
  const shipper = await createShipper(optionsOf(fs, { got: new Map(), batches: [] }))
  const id = await shipper.ship({ n: 1 })
  const server: Server = { got: new Map(), batches: [] }
  const after = await createShipper(optionsOf(fs.afterCrash('drop'), server))
  await after.flush()
  expect([...server.got.keys()]).toEqual([id])
  await shipper.close()
})

test('the events of each producer arrive in order, repetitions aside', async () => {
  const fs = modelFiles()
  const server: Server = { got: new Map(), batches: [] }
  await live(fs, server, new Set())
  const last = new Map<string, number>()
  for (const id of server.batches.flat()) {
    const [producer = '', seq] = id.split('-')
    expect(Number(seq)).toBe((last.get(producer) ?? 0) + 1)
    last.set(producer, Number(seq))
  }
})
