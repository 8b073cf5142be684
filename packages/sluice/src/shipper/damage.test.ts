import { expect, test } from 'vitest'
import { type ModelFiles, modelFiles } from '../testing/shipper/model-files.ts'
import { ModelInode } from '../testing/shipper/model-inode.ts'
import { createShipper } from './create-shipper.ts'
import { findValid, lookAt, recordHeaderBytes, saltOf } from './log/segment/record.ts'
import { segmentHeaderBytes } from './log/segment/segment-header.ts'
import { parseSegmentName } from './log/segment/segment-name.ts'
import { thisProcess } from './owner/process-identity.ts'

const runs = Number(process.env.SLUICE_DAMAGE_RUNS ?? 300)

function random(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const options = (fs: ModelFiles, got: string[] = []) => ({
  dir: '/buffer',
  fs,
  flushInterval: false as const,
  identity: { ...thisProcess(), pid: 5_000_000, started: 1 },
  send: async (events: readonly { id: string }[]) => void got.push(...events.map(({ id }) => id)),
  capacity: async () => ({ ready: true, maxBatchSize: 1000, delayBetweenBatches: 0 }),
})

/** A buffer with several sealed segments, a shipped part, and all ids in it that are still pending. */
async function buffer(): Promise<{ fs: ModelFiles; ids: string[] }> {
  const fs = modelFiles()
  const shipper = await createShipper({ ...options(fs), segmentBytes: 900 })
  await Promise.all(Array.from({ length: 5 }, (_, i) => shipper.ship({ first: i })))
  await shipper.flush()
  const ids: string[] = []
  for (let i = 0; i < 30; i++) ids.push(await shipper.ship({ i, text: 'x'.repeat(i * 3) }))
  await shipper.close()
  return { fs, ids }
}

interface Hit {
  readonly path: string
  readonly from: number
  readonly to: number
}

/** Flips one bit of one file, or truncates it; returns which bytes changed. */
function harm(fs: ModelFiles, next: () => number): Hit {
  const files = [...fs.files].filter(([, { data }]) => data.length > 0)
  const [path, file] = files[Math.floor(next() * files.length)]!
  const at = Math.floor(next() * file.data.length)
  const cuts = next() < 0.2
  const data = Buffer.from(cuts ? file.data.subarray(0, at) : file.data)
  if (!cuts) data[at] = data[at]! ^ (1 << Math.floor(next() * 8))
  // An unreadable lock counts as held until it has expired; here it has.
  Object.assign(file, { data, durable: data, modifiedMs: 0 })
  return { path, from: at, to: cuts ? Number.POSITIVE_INFINITY : at + 1 }
}

/** The ids of the records that the damage touches. */
function touched(fs: ModelFiles, { path, from, to }: Hit): Set<string> {
  const name = parseSegmentName(path.split('/').at(-1)!)
  const ids = new Set<string>()
  if (name === undefined) return ids
  const data = fs.files.get(path)!.data
  for (let at = segmentHeaderBytes; at < data.length; ) {
    const end = at + recordHeaderBytes + Math.max(0, lookAt(data, at, data.length, saltOf(name.producer)))
    if (from < end && to > at) ids.add(`${name.producer}-${data.readUIntLE(at + 8, 6)}`)
    at = end
  }
  return ids
}

test(`${runs} random bit flips and cuts: only damaged records are lost, exactly counted, and it always starts`, {
  timeout: 600_000,
}, async () => {
  const { fs: intact, ids } = await buffer()
  let harmless = 0
  for (let run = 0; run < runs; run++) {
    const fs = intact.afterCrash('keep')
    const before = intact.afterCrash('keep')
    const hit = harm(fs, random(run))
    const touchedIds = touched(before, hit)
    const got: string[] = []
    const shipper = await createShipper(options(fs, got))
    const report = await shipper.flush()
    const arrived = new Set(got)
    const missing = ids.filter((id) => !arrived.has(id))
    const untouched = missing.filter((id) => !touchedIds.has(id))
    expect({ run, hit, untouched, outcome: report.outcome }).toEqual({ run, hit, untouched: [], outcome: 'drained' })
    // Truncated tails cannot be counted: nothing shows how much there was.
    if (hit.to !== Number.POSITIVE_INFINITY)
      expect({ run, lost: shipper.stats().lost }).toEqual({ run, lost: missing.length })
    if (missing.length === 0) harmless++
    await shipper.close()
    // And it starts again, and finds nothing to do.
    const again = await createShipper(options(fs, got))
    expect(await again.flush()).toMatchObject({ outcome: 'drained', sent: 0 })
    await again.close()
  }
  expect(harmless).toBeLessThan(runs)
})

test('all good records of a segment are found behind a damaged one, and its bytes are kept', async () => {
  const { fs, ids } = await buffer()
  const path = [...fs.files.keys()].find((each) => each.endsWith('.seg'))!
  const { data } = fs.files.get(path)!
  const harmed = Buffer.from(data)
  const at = harmed.length - 200
  harmed[at] = harmed[at]! ^ 0xff
  Object.assign(fs.files.get(path)!, { data: harmed })
  const got: string[] = []
  const shipper = await createShipper(options(fs, got))
  const damaged: { savedAs?: string }[] = []
  shipper.on('damaged', (event) => damaged.push(event))
  await shipper.flush()
  expect(ids.filter((id) => !got.includes(id))).toHaveLength(1)
  await expect.poll(() => damaged).toMatchObject([{ savedAs: expect.stringContaining('damaged/') }])
  expect(fs.exists(`/buffer/${damaged[0]!.savedAs}`)).toBe(true)
})

test('a file of zeros, an empty one and one of garbage do not keep it from starting', async () => {
  const { fs, ids } = await buffer()
  const producer = '0123456789abcdef01234567'
  const inode = (data: Buffer) => Object.assign(new ModelInode(), { data, durable: data, modifiedMs: 0 })
  const files = fs.files as Map<string, ModelInode>
  files.set(`/buffer/000000000000001-${producer}-00000000.seg`, inode(Buffer.alloc(5000)))
  files.set(`/buffer/000000000000002-${producer}-00000001.seg`, inode(Buffer.alloc(0)))
  files.set(`/buffer/000000000000003-${producer}-00000002.open`, inode(Buffer.alloc(3000, 0xee)))
  files.set('/buffer/.backpressure-state', inode(Buffer.from('{"backoffLevel":')))
  files.set('/buffer/owner-000000000777', inode(Buffer.from('garbage')))
  files.set('/buffer/checkpoint-000000000777-0', inode(Buffer.from('garbage')))
  const got: string[] = []
  const shipper = await createShipper(options(fs, got))
  await shipper.flush()
  expect(ids.filter((id) => !got.includes(id))).toEqual([])
  expect([...fs.files.keys()].some((path) => path.includes('.backpressure-state.damaged-'))).toBe(true)
})

test.each([
  ['the only commit, which nobody can have been promised', 1, 0],
  ['a commit that another one follows', 2, 'missing'],
])('zeros at the beginning of %s', async (_, commits, expected) => {
  const fs = modelFiles()
  const writer = await createShipper(options(fs))
  const ids: string[] = []
  for (let commit = 0; commit < commits; commit++) {
    const events = Array.from({ length: 10 }, (_, n) => writer.ship({ n, text: 'x'.repeat(200) }))
    ids.push(...(await Promise.all(events)))
  }
  const [segment] = [...fs.files].filter(([path]) => path.endsWith('.open')).map(([, inode]) => inode)
  segment!.data = Buffer.from(segment!.data).fill(0, segmentHeaderBytes, 1024)
  const got: string[] = []
  const shipper = await createShipper(options(fs.afterCrash('keep'), got))
  await shipper.flush()
  const missing = ids.length - got.length
  expect(missing).toBeGreaterThan(2)
  expect(shipper.stats().lost).toBe(expected === 'missing' ? missing : expected)
  await shipper.close()
})

test('a missing segment is counted exactly', async () => {
  const { fs } = await buffer()
  const segments = [...fs.files.keys()].filter((path) => path.endsWith('.seg')).sort()
  const [, second = ''] = segments
  const got: string[] = []
  await fs.remove(second)
  const shipper = await createShipper(options(fs, got))
  await shipper.flush()
  expect(shipper.stats().lost).toBe(30 - got.length)
  expect(shipper.stats().lost).toBeGreaterThan(0)
})

test('a search for the next record is not fooled by what looks like one inside an event', () => {
  const salt = saltOf('a')
  const bytes = Buffer.alloc(400, 7)
  expect(findValid(bytes, 0, bytes.length, salt, 1)).toBeUndefined()
})

test.each([
  ['EMFILE', 1, 0],
  ['EMFILE', 1, 1],
  ['EIO', 2, 0],
  ['EIO', 2, 1],
])(
  'a checkpoint that cannot be opened now (%s, %i times, slot %i) is not taken for an older one',
  async (code, times, slot) => {
    const fs = modelFiles()
    const first = await createShipper({ ...options(fs), segmentBytes: 300, maxBatchEvents: 2 })
    await Promise.all(Array.from({ length: 30 }, (_, i) => first.ship({ i })))
    await first.flush()
    const waiting = await Promise.all([first.ship('a'), first.ship('b')])
    await first.close()
    let left = times
    fs.fault = (operation, path) =>
      operation === 'open' && path.includes('/checkpoint-') && path.endsWith(`-${slot}`) && left-- > 0
        ? { code }
        : undefined
    const got: string[] = []
    const lost: unknown[] = []
    const next = await createShipper({ ...options(fs, got), backoff: { base: 0 } })
    next.on('lost', (event) => lost.push(event))
    await next.flush()
    await next.flush()
    await next.close()
    expect({ lost, got: new Set(got), left }).toEqual({ lost: [], got: new Set(waiting), left: expect.any(Number) })
    expect(left).toBeLessThan(times)
  },
)

/** Bytes of a record of the segment, by its place in it. */
function recordAt(data: Buffer, producer: string, place: number): { from: number; to: number } {
  let from = segmentHeaderBytes
  for (let n = 0; ; n++) {
    const to = from + recordHeaderBytes + lookAt(data, from, data.length, saltOf(producer))
    if (n === place) return { from, to }
    from = to
  }
}

test.each([
  ['of the same length', 60, 10, 61],
  ['that is longer', 99, 10, 12],
  ['that is shorter', 40, 95, 96],
])('a record %s in a wrong place hides none of the intact ones', async (_, source, target, places) => {
  const fs = modelFiles()
  const shipper = await createShipper(options(fs))
  const ids: string[] = []
  for (let i = 0; i < 100; i++) ids.push(await shipper.ship({ text: 'x'.repeat(i > 90 ? 400 : i > 50 ? 100 : 50) }))
  await shipper.close()
  const [path, file] = [...fs.files].find(([name]) => name.endsWith('.seg'))!
  const { producer } = parseSegmentName(path.split('/').at(-1)!)!
  const [from, to] = [recordAt(file.data, producer, source), recordAt(file.data, producer, target)]
  const before = Buffer.from(file.data)
  before.copy(file.data, to.from, from.from, from.to)
  // What the record of the wrong place lies over, wholly or in part.
  const over = ids.filter((_, place) => {
    const { from: start, to: end } = recordAt(before, producer, place)
    return start < to.from + from.to - from.from && end > to.from
  })
  expect(places).toBeGreaterThan(over.length)
  const got: string[] = []
  const damaged: unknown[] = []
  const again = await createShipper({ ...options(fs, got), identity: { ...thisProcess(), pid: 5_000_001, started: 1 } })
  again.on('damaged', (event) => damaged.push(event))
  expect(await again.flush()).toMatchObject({ outcome: 'drained', pending: 0 })
  expect(got).toEqual(ids.filter((id) => !over.includes(id)))
  expect(again.stats().lost).toBe(over.length)
  // A record that comes again is skipped like any other that was read before.
  if (source > target) expect(damaged).toHaveLength(1)
})

test.each([
  ['while the same process ships', false],
  ['and another process finds it', true],
])('a segment that was moved away is sent when it is moved back, %s', async (_, isRestarted) => {
  const fs = modelFiles()
  const ids: string[] = []
  const shipper = await createShipper({ ...options(fs), segmentBytes: 900 })
  for (let i = 0; i < 60; i++) ids.push(await shipper.ship({ i, text: 'x'.repeat(50) }))
  await shipper.close()
  const segments = [...fs.files.keys()].filter((path) => path.endsWith('.seg')).sort()
  const moved = segments[1]!
  await fs.rename(moved, '/elsewhere')
  const got: string[] = []
  const open = (pid: number) =>
    createShipper({ ...options(fs, got), maxBatchEvents: 5, identity: { ...thisProcess(), pid, started: 1 } })
  let again = await open(5_000_001)
  await again.flush()
  const missing = ids.filter((id) => !got.includes(id))
  expect(again.stats().lost).toBe(missing.length)
  if (isRestarted) {
    await again.close()
    again = await open(5_000_002)
  }
  const later = await again.ship({ later: true })
  await fs.rename('/elsewhere', moved)
  expect(await again.flush()).toMatchObject({ outcome: 'drained', sent: missing.length + 1, pending: 0 })
  expect(got.slice(-missing.length - 1)).toEqual([...missing, later])
  expect(fs.exists(moved)).toBe(false)
  expect(again.stats().lost).toBe(isRestarted ? 0 : missing.length)
  await again.close()
})

test('a segment that was moved back is sent to its end by the process that takes over in the middle of it', async () => {
  const fs = modelFiles()
  const ids: string[] = []
  const shipper = await createShipper({ ...options(fs), segmentBytes: 900 })
  for (let i = 0; i < 60; i++) ids.push(await shipper.ship({ i, text: 'x'.repeat(50) }))
  await shipper.close()
  const moved = [...fs.files.keys()].filter((path) => path.endsWith('.seg')).sort()[1]!
  await fs.rename(moved, '/elsewhere')
  const got: string[] = []
  let isCut = false
  const send = async (events: readonly { id: string }[]) => {
    if (isCut) throw new Error('down')
    got.push(...events.map(({ id }) => id))
  }
  const open = (pid: number) =>
    createShipper({
      ...{ ...options(fs, got), send, maxBatchEvents: 3, backoff: { base: 0 } },
      identity: { ...thisProcess(), pid, started: 1 },
    })
  const second = await open(5_000_001)
  await second.flush()
  await fs.rename('/elsewhere', moved)
  second.on('sent', () => (isCut = true))
  expect(await second.flush()).toMatchObject({ outcome: 'failed', sent: 3 })
  await second.close()
  isCut = false
  const third = await open(5_000_002)
  expect(await third.flush()).toMatchObject({ outcome: 'drained', pending: 0 })
  expect(third.stats().lost).toBe(0)
  expect([...got].sort()).toEqual([...ids].sort())
  await third.close()
})
