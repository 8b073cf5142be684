import { expect, test } from 'vitest'
import { type ModelFiles, modelFiles } from '../../../testing/shipper/model-files.ts'
import { createShipper } from '../../create-shipper.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { verifyBuffer } from '../../inspect/verify-buffer.ts'
import type { ShipperOptions } from '../../options.ts'
import { thisProcess } from '../../owner/process-identity.ts'
import { measureSegment } from './segment.ts'
import { parseSegmentName } from './segment-name.ts'

const gone = { ...thisProcess(), pid: 5_000_000, started: 1 }
/** A sixteenth of it is written ahead. */
const segmentBytes = 64 * 1024
const event = (n: number) => ({ n, text: 'x'.repeat(100) })

async function open(fs: ModelFiles, options: Partial<ShipperOptions> = {}) {
  const got: string[] = []
  const shipper = await createShipper({
    ...{ dir: '/buffer', fs, segmentBytes, flushInterval: false, identity: gone },
    send: async (events) => void got.push(...events.map(({ id }) => id)),
    capacity: async () => ({ ready: true, maxBatchSize: 100, delayBetweenBatches: 0 }),
    ...options,
  })
  return { shipper, got }
}

const segments = (fs: ModelFiles) =>
  [...fs.files].filter(([path]) => /\.(open|seg)$/.test(path)).map(([, inode]) => inode.data)

/** How many zeros are at the end of the only segment. */
function zerosOf(fs: ModelFiles): number {
  const [data] = segments(fs)
  return data!.length - (data!.findLastIndex((byte) => byte !== 0) + 1)
}

test('most commits go into space that is already allocated', async () => {
  const fs = modelFiles()
  const { shipper } = await open(fs)
  const lengths = new Set<number>()
  for (let n = 0; n < 100; n++) {
    await shipper.ship(event(n))
    lengths.add(segments(fs)[0]!.length)
  }
  expect(lengths.size).toBeLessThan(10)
})

test('a process that stores few events writes no zeros, and a finished segment has none', async () => {
  const fs = modelFiles()
  const { shipper } = await open(fs)
  await shipper.ship(event(0))
  expect(zerosOf(fs)).toBe(0)
  for (let n = 1; n < 20; n++) await shipper.ship(event(n))
  expect(zerosOf(fs)).toBeGreaterThan(0)
  await shipper.close()
  expect(zerosOf(fs)).toBe(0)
})

test('a segment that its writer ends while it is measured is measured up to its end', async () => {
  const fs = modelFiles()
  const { shipper } = await open(fs)
  for (let n = 0; n < 20; n++) await shipper.ship(event(n))
  const [path] = [...fs.files.keys()].filter((each) => each.endsWith('.open'))
  const ending: FileSystem = {
    ...fs,
    async open(...given) {
      const file = await fs.open(...given)
      const size = async (): Promise<number> => {
        const before = await file.size()
        await shipper.close()
        return before
      }
      return { ...file, size }
    },
  }
  const { nextSeq } = await measureSegment(ending, path!, parseSegmentName(path!.split('/').at(-1)!)!)
  expect(nextSeq).toBe(21)
})

test.each(['drop', 'keep', 'torn'] as const)('zeros after a crash (%s) are neither damage nor loss', async (mode) => {
  const fs = modelFiles()
  const { shipper } = await open(fs)
  const ids: string[] = []
  for (let n = 0; n < 20; n++) ids.push(await shipper.ship(event(n)))
  const after = fs.afterCrash(mode)
  expect(zerosOf(after)).toBeGreaterThan(0)
  expect(await verifyBuffer('/buffer', { fs: after })).toMatchObject({ events: 20, lost: 0, damage: [] })
  const next = await open(after)
  const problems: unknown[] = []
  for (const name of ['lost', 'damaged'] as const) next.shipper.on(name, (problem) => problems.push(problem))
  await next.shipper.flush()
  expect(next.got).toEqual(ids)
  expect(problems).toEqual([])
})

test('a disk that has space for the events but not for the zeros stores the events', async () => {
  const fs = modelFiles()
  const { shipper, got } = await open(fs, { onFull: 'refuse' })
  const full: unknown[] = []
  shipper.on('fullChanged', (change) => full.push(change))
  // The write with the zeros fails; the space it took is released before the next one.
  let isFull = false
  fs.fault = (operation, path) => {
    if (operation === 'truncate') isFull = false
    return isFull && operation === 'write' && path.endsWith('.open') ? { code: 'ENOSPC' } : undefined
  }
  const ids = [await shipper.ship(event(0))]
  isFull = true
  ids.push(await shipper.ship({ ...event(1), text: 'x'.repeat(300) }))
  fs.fault = undefined
  await shipper.flush()
  expect(got).toEqual(ids)
  expect(full).toEqual([])
})
