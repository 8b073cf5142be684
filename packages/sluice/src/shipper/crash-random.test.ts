import { expect, test } from 'vitest'
import { crashModes, type Fault, type ModelFiles, modelFiles } from '../testing/shipper/model-files.ts'
import { createAppender } from './create-appender.ts'
import { createShipper } from './create-shipper.ts'
import type { OutgoingEvent } from './flush/transport.ts'
import { thisProcess } from './owner/process-identity.ts'
import { rejectedFiles } from './rejected/rejected-names.ts'

const runs = Number(process.env.SLUICE_CRASH_RUNS ?? 250)
const batch = 4

let pid = 5_000_000
/** A process that does not exist any more, so that what it held can be taken over. */
const deadProcess = () => ({ ...thisProcess(), pid: pid++, started: 1 })

function randomFrom(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** What all processes of one run did, and the server that outlives them. */
interface World {
  readonly random: () => number
  readonly acknowledged: Set<string>
  readonly arrived: Map<string, number>
  readonly rejected: Set<string>
  readonly lost: Set<string>
}

async function open(fs: ModelFiles, world: World, segmentBytes: number) {
  const shipper = await createShipper({
    dir: '/buffer',
    fs,
    segmentBytes,
    flushInterval: false,
    maxBatchEvents: batch,
    identity: deadProcess(),
    backoff: { baseMs: 0 },
    send: async (events: readonly OutgoingEvent[]) => {
      for (const { id } of events) world.arrived.set(id, (world.arrived.get(id) ?? 0) + 1)
      const results = events.map(({ id }) => ({
        id,
        status: id.endsWith('3') ? ('rejected' as const) : ('ok' as const),
      }))
      for (const { id, status } of results) if (status === 'rejected') world.rejected.add(id)
      return { results }
    },
    capacity: async () => ({ ready: true, maxBatchSize: batch, delayBetweenBatches: 0 }),
  })
  shipper.on('lost', ({ producer, from, events }) => {
    for (let seq = from; seq < from + events; seq++) world.lost.add(`${producer}-${seq}`)
  })
  return shipper
}

/** The disk fails now and then, for a while. */
function failing(random: () => number): ModelFiles['fault'] {
  const codes = ['EIO', 'ENOSPC', 'EMFILE']
  const operations = ['write', 'datasync', 'truncate', 'rename', 'syncDir', 'remove', 'open', 'read', 'list']
  const [code, operation] = [
    codes[Math.floor(random() * codes.length)]!,
    operations[Math.floor(random() * operations.length)]!,
  ]
  let left = Math.floor(random() * 4)
  return (name): Fault | undefined => (name === operation && random() < 0.1 && left-- > 0 ? { code } : undefined)
}

/** One process: it stores events, some through an appender, and flushes, until it dies. */
async function live(fs: ModelFiles, world: World, diskFails: boolean): Promise<void> {
  const { random } = world
  if (diskFails && random() < 0.3) fs.fault = failing(random)
  const shipper = await open(fs, world, 300 + Math.floor(random() * random() * 20_000))
  const appender = random() < 0.3 ? await createAppender({ dir: '/buffer', fs, identity: deadProcess() }) : undefined
  for (let round = 0; round < 3; round++) {
    const count = 1 + Math.floor(random() * (random() < 0.3 ? 40 : 8))
    const stored = Array.from({ length: count }, async (_, i) => {
      const event = { round, i, text: 'x'.repeat(Math.floor(random() * 300)) }
      const storing = appender !== undefined && random() < 0.3 ? appender.append(event) : shipper.ship(event)
      await storing.then(
        (id) => world.acknowledged.add(id),
        () => undefined,
      )
    })
    await Promise.all(stored)
    if (random() < 0.5) await shipper.flush().catch(() => undefined)
  }
  if (random() < 0.5) await appender?.close().catch(() => undefined)
  await shipper.close().catch(() => undefined)
}

/** The ids that can be read in the files of rejected events. */
function setAside(fs: ModelFiles): Set<string> {
  const names = rejectedFiles([...fs.files.keys()].map((path) => path.slice('/buffer/'.length)))
  const lines = names.flatMap((name) => fs.files.get(`/buffer/${name}`)!.data.toString().split('\n'))
  return new Set(lines.map((line) => /^\{"id":"([0-9a-f]+-\d+)",.*\}$/.exec(line)?.[1] ?? ''))
}

test(`${runs} lives with up to five crashes, power cuts and disk failures lose nothing acknowledged`, {
  timeout: 1_200_000,
}, async () => {
  let [tornLives, repeated] = [0, 0]
  for (let run = 0; run < runs; run++) {
    const random = randomFrom(run)
    const world: World = {
      ...{ random, acknowledged: new Set(), arrived: new Map(), rejected: new Set(), lost: new Set() },
    }
    let fs = modelFiles()
    const crashes = 1 + Math.floor(random() * 5)
    for (let crash = 0; crash < crashes; crash++) {
      // Early ones are more likely: they hit the recovery from the crash before.
      fs.crashAt = Math.floor(random() * random() * 250)
      await live(fs, world, true).catch(() => undefined)
      const mode = crashModes[Math.floor(random() * 3)]!
      if (mode === 'torn') tornLives++
      fs = fs.afterCrash(mode, random)
    }
    const shipper = await open(fs, world, 5000)
    const { outcome, pending } = await shipper.flush()
    const missing = [...world.acknowledged].filter((id) => !world.arrived.has(id))
    const aside = setAside(fs)
    const forgotten = [...world.acknowledged].filter((id) => world.rejected.has(id) && !aside.has(id))
    const falselyLost = [...world.lost].filter((id) => world.arrived.has(id) || !world.acknowledged.has(id))
    expect({ run, missing, forgotten, falselyLost, outcome, pending }).toEqual({
      ...{ run, missing: [], forgotten: [], falselyLost: [], outcome: 'drained', pending: 0 },
    })
    const extra = [...world.arrived.values()].reduce((sum, times) => sum + times - 1, 0)
    repeated += extra
    await shipper.close()
    expect(fs.files.size, `run ${run} leaves no segment`).toBeLessThan(20)
  }
  expect(tornLives).toBeGreaterThan(runs / 3)
  expect(repeated).toBeGreaterThan(0)
})

test(`${runs} runs without disk failures repeat at most one batch per crash`, { timeout: 1_200_000 }, async () => {
  for (let run = 0; run < runs; run++) {
    const random = randomFrom(run + 1_000_000)
    const world: World = {
      ...{ random, acknowledged: new Set(), arrived: new Map(), rejected: new Set(), lost: new Set() },
    }
    let fs = modelFiles()
    const crashes = 1 + Math.floor(random() * 5)
    for (let crash = 0; crash < crashes; crash++) {
      fs.crashAt = Math.floor(random() * 250)
      await live(fs, world, false).catch(() => undefined)
      fs = fs.afterCrash(crashModes[Math.floor(random() * 3)]!, random)
    }
    const shipper = await open(fs, world, 5000)
    await shipper.flush()
    const extra = [...world.arrived.values()].reduce((sum, times) => sum + times - 1, 0)
    expect(extra, `run ${run}, ${crashes} crashes`).toBeLessThanOrEqual(batch * crashes)
    await shipper.close()
  }
})
