import { parseState, stateFileName } from '../../../shipper/backoff/state-file.ts'
import { createAppender } from '../../../shipper/create-appender.ts'
import { createShipper } from '../../../shipper/create-shipper.ts'
import type { FileSystem } from '../../../shipper/files/file-system.ts'
import type { OutgoingEvent } from '../../../shipper/flush/transport.ts'
import { decodeHeader } from '../../../shipper/log/segment/segment-header.ts'
import { parseSegmentName } from '../../../shipper/log/segment/segment-name.ts'
import { thisProcess } from '../../../shipper/owner/process-identity.ts'
import { rejectedFiles } from '../../../shipper/rejected/rejected-file.ts'
import type { Shipper } from '../../../shipper/shipper.ts'
import { crashModes, type Fault, type ModelFiles, modelFiles } from '../model-files.ts'

const batch = 4
const maxInFlight = 3
/** The most that is sent again after a crash. */
const unrecorded = batch * maxInFlight

export interface LivesOptions {
  /** Whether the disk fails now and then, besides the crashes. */
  readonly diskFails: boolean
  /** One crash, at this step, that drops what was not synced; up to five at random steps if left out. */
  readonly crashAt?: number
  /** The file system as the processes see it; a mutant leaves steps out. */
  readonly view?: (fs: ModelFiles) => FileSystem
}

/** What one run of lives and crashes did, and what is wrong with it. */
export interface LivesReport {
  readonly tornCrashes: number
  /** How many events arrived a second time. */
  readonly repeated: number
  /** Empty if every promise was kept. */
  readonly wrong: readonly string[]
}

/** What all processes of one run did, and the server that outlives them. */
interface World extends LivesOptions {
  readonly random: () => number
  readonly acknowledged: Set<string>
  readonly arrived: Set<string>
  readonly rejected: Set<string>
  readonly lost: Set<string>
  /** What has arrived in the present life. */
  inThisLife: Set<string>
  /** In the order in which they first sent something. */
  readonly producers: string[]
  /** How often something arrived that had arrived before. */
  repeated: number
  /** Whether the disk has failed in the present life. */
  diskFailed: boolean
  readonly wrong: string[]
}

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

/** Processes that store and ship events on one disk, one after the other, each ended by a crash or a power cut. */
export async function runLives(seed: number, options: LivesOptions): Promise<LivesReport> {
  const random = randomFrom(seed)
  const world: World = {
    ...{ ...options, random, acknowledged: new Set(), arrived: new Set(), rejected: new Set(), lost: new Set() },
    ...{ inThisLife: new Set(), producers: [], repeated: 0, diskFailed: false, wrong: [] },
  }
  let fs = modelFiles()
  const crashes = options.crashAt === undefined ? 1 + Math.floor(random() * 5) : 1
  let tornCrashes = 0
  for (let crash = 0; crash < crashes; crash++) {
    // Early ones are more likely: they hit the recovery from the crash before.
    fs.crashAt = options.crashAt ?? Math.floor(random() * (random() < 0.5 ? random() : 1) * 250)
    await live(fs, world).catch(() => undefined)
    endLife(world, crash)
    const mode = options.crashAt === undefined ? crashModes[Math.floor(random() * 3)]! : 'drop'
    if (mode === 'torn') tornCrashes++
    fs = fs.afterCrash(mode, random)
  }
  const shipper = await open(fs, world, 5000)
  const { outcome, pending } = await shipper.flush()
  await shipper.close()
  endLife(world, crashes)
  const { repeated } = world
  return { tornCrashes, repeated, wrong: [...world.wrong, ...faultsOf(world, fs, `${outcome}, ${pending} pending`)] }
}

/**
 * At any moment so many batches were sent at most and are not recorded for good: each crash makes them be sent again.
 * Not always by the next process: it may find older events of another producer first and crash over those, and what
 * two processes have recorded but not synced is lost in one power cut.
 */
function endLife(world: World, crashes: number): void {
  const { diskFails, wrong, repeated, inThisLife, arrived } = world
  if (!diskFails && repeated > unrecorded * crashes) wrong.push(`${repeated} events repeated after ${crashes} crashes`)
  for (const id of inThisLife) arrived.add(id)
  world.inThisLife = new Set()
  world.diskFailed = false
}

/** Every promise that was broken. */
function faultsOf(world: World, fs: ModelFiles, end: string): string[] {
  const { acknowledged, arrived, rejected, lost } = world
  const names = [...fs.files.keys()].map((path) => path.slice('/buffer/'.length))
  const aside = setAside(fs, names)
  const lists = {
    missing: [...acknowledged].filter((id) => !arrived.has(id)),
    'rejected and not set aside': [...acknowledged].filter((id) => rejected.has(id) && !aside.has(id)),
    'reported as lost, but never promised or not lost': [...lost].filter(
      (id) => arrived.has(id) || !acknowledged.has(id),
    ),
    'state damaged': names.filter((name) => name.startsWith(`${stateFileName}.damaged`)),
    'segments left': names.filter((name) => isLeft(name, fs)),
  }
  const wrong = Object.entries(lists).flatMap(([what, ids]) => (ids.length === 0 ? [] : [`${what}: ${ids.join(' ')}`]))
  if (end !== 'drained, 0 pending') wrong.push(end)
  const state = parseState(fs.files.get(`/buffer/${stateFileName}`)?.data.toString() ?? '')
  if (arrived.size > 0 && state?.pendingEventCount !== 0) wrong.push('the state was not saved')
  if (names.length >= 20) wrong.push(`${names.length} files are left`)
  return wrong
}

async function open(fs: ModelFiles, world: World, segmentBytes: number): Promise<Shipper> {
  const shipper = await createShipper({
    dir: '/buffer',
    fs: world.view?.(fs) ?? fs,
    segmentBytes,
    flushInterval: false,
    maxBatchEvents: batch,
    identity: deadProcess(),
    backoff: { base: 0 },
    send: async (events: readonly OutgoingEvent[]) => {
      for (const { id } of events) {
        // Every send succeeds, and no answer says retry: unless the disk refused to record that, once is enough.
        const isRepeated = world.inThisLife.has(id)
        if (isRepeated && !world.diskFailed) world.wrong.push(`${id} was sent twice in one life`)
        if (isRepeated || world.arrived.has(id)) world.repeated++
        world.inThisLife.add(id)
      }
      const refused = events.map(({ id }) => id).filter((id) => isRefused(id, world))
      for (const id of refused) world.rejected.add(id)
      return { results: events.map(({ id }) => ({ id, status: refused.includes(id) ? 'rejected' : 'ok' })) }
    },
    capacity: async () => ({ ready: true, maxBatchSize: batch, delayBetweenBatches: 0, maxInFlight }),
  })
  shipper.on('lost', ({ producer, from, events }) => {
    for (let seq = from; seq < from + events; seq++) world.lost.add(`${producer}-${seq}`)
  })
  return shipper
}

/** A segment that has no whole header was never confirmed; nobody knows whose it is, so it stays for a while. */
function isLeft(name: string, fs: ModelFiles): boolean {
  return parseSegmentName(name) !== undefined && decodeHeader(fs.files.get(`/buffer/${name}`)!.data) !== undefined
}

/** Two of every four producers have one refused in their first batch, and all have one in a later batch. */
function isRefused(id: string, { producers }: World): boolean {
  const producer = id.slice(0, id.indexOf('-'))
  if (!producers.includes(producer)) producers.push(producer)
  return id.endsWith('9') || (id.endsWith('3') && producers.indexOf(producer) % 4 < 2)
}

/** The disk fails now and then, for a while. */
function failing(world: World): ModelFiles['fault'] {
  const { random } = world
  const codes = ['EIO', 'ENOSPC', 'EMFILE']
  const operations = ['write', 'datasync', 'truncate', 'rename', 'syncDir', 'remove', 'open', 'read', 'list']
  const [code, operation] = [
    codes[Math.floor(random() * codes.length)]!,
    operations[Math.floor(random() * operations.length)]!,
  ]
  let left = Math.floor(random() * 4)
  return (name): Fault | undefined => {
    if (name !== operation || random() >= 0.1 || left-- <= 0) return undefined
    world.diskFailed = true
    return { code }
  }
}

/** One process: it stores events, some through an appender, and flushes, until it dies. */
async function live(fs: ModelFiles, world: World): Promise<void> {
  const { random } = world
  if (world.diskFails && random() < 0.3) fs.fault = failing(world)
  const shipper = await open(fs, world, 300 + Math.floor(random() * random() * 20_000))
  const view = world.view?.(fs) ?? fs
  const appender =
    random() < 0.3 ? await createAppender({ dir: '/buffer', fs: view, identity: deadProcess() }) : undefined
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
function setAside(fs: ModelFiles, names: readonly string[]): Set<string> {
  const lines = rejectedFiles(names).flatMap((name) => fs.files.get(`/buffer/${name}`)!.data.toString().split('\n'))
  return new Set(lines.map((line) => /^\{"id":"([0-9a-f]+-\d+)",.*\}$/.exec(line)?.[1] ?? ''))
}
