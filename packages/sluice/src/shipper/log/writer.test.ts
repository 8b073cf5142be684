import { expect, test } from 'vitest'
import { type ModelFiles, modelFiles } from '../../testing/shipper/model-files.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createShipper } from '../create-shipper.ts'
import { createAppender } from '../index.ts'
import type { ShipperOptions } from '../options.ts'
import { thisProcess } from '../owner/process-identity.ts'

const gone = { ...thisProcess(), pid: 5_000_000, started: 1 }

async function open(fs: ModelFiles, options: Partial<ShipperOptions> = {}) {
  const got: string[] = []
  const shipper = await createShipper({
    dir: '/buffer',
    fs,
    flushInterval: false,
    send: async (events) => void got.push(...events.map(({ id }) => id)),
    capacity: async () => ({ ready: true, maxBatchSize: 100, delayBetweenBatches: 0 }),
    ...options,
  })
  return { shipper, got }
}

const segments = (fs: ModelFiles) => [...fs.files.keys()].filter((path) => /\.(open|seg)$/.test(path)).sort()

test('events of one tick share one commit, and each promise waits for the sync that covers it', async () => {
  const fs = modelFiles()
  const { shipper } = await open(fs)
  const commits: number[] = []
  shipper.on('stored', ({ events }) => commits.push(events))
  const first = Array.from({ length: 10 }, (_, n) => shipper.ship({ n }))
  await Promise.race(first)
  await Promise.all([...first, shipper.ship({ n: 10 })])
  expect(commits).toEqual([10, 1])
})

test('a writer whose segment was taken over writes again, under the same ids, what it could not confirm', async () => {
  const fs = modelFiles()
  const sleeper = await open(fs, { identity: gone })
  const ids = [await sleeper.shipper.ship({ n: 1 })]
  // Another process considers it dead and becomes the owner; it ships and removes the segment.
  const [path = ''] = segments(fs)
  await fs.rename(path, path.replace('.open', '.seg'))
  ids.push(await sleeper.shipper.ship({ n: 2 }), await sleeper.shipper.ship({ n: 3 }))
  expect(ids.map((id) => id.split('-')[1])).toEqual(['1', '2', '3'])
  expect(segments(fs)).toHaveLength(2)
  await sleeper.shipper.flush()
  // The second is in both segments, and is sent once.
  expect(sleeper.got).toEqual(ids)
  expect(sleeper.shipper.stats().lost).toBe(0)
})

test('a batch that ends one segment and begins the next does not make anything look lost', async () => {
  const fs = modelFiles()
  const { shipper, got } = await open(fs, { segmentBytes: 500, maxBatchEvents: 7 })
  const ids: string[] = []
  for (let n = 0; n < 40; n++) {
    ids.push(await shipper.ship({ n, text: 'x'.repeat(60) }))
    if (n % 5 === 0) await shipper.flush()
  }
  await shipper.flush()
  expect(got).toEqual(ids)
  expect(shipper.stats()).toMatchObject({ lost: 0, sent: 40 })
})

test('segments of one producer keep their order when the clock is set back', async () => {
  const [fs, clock] = [modelFiles(), virtualClock()]
  const { shipper, got } = await open(fs, { clock, segmentBytes: 300 })
  const ids: string[] = []
  for (let n = 0; n < 20; n++) {
    ids.push(await shipper.ship({ n, text: 'x'.repeat(60) }))
    if (n % 5 === 0) clock.tick(-3_600_000)
  }
  expect(segments(fs).length).toBeGreaterThan(5)
  await shipper.flush()
  expect(got).toEqual(ids)
})

test('"interval" confirms before the sync, and syncs within the interval', async () => {
  const [fs, clock] = [modelFiles(), virtualClock()]
  const { shipper } = await open(fs, { clock, durability: 'interval', syncInterval: 500, identity: gone })
  const id = await shipper.ship({ n: 1 })
  const kept = async () => {
    const after = await open(fs.afterCrash('drop'))
    await after.shipper.flush()
    return after.got
  }
  expect(await kept()).toEqual([])
  await clock.advance(500)
  expect(await kept()).toEqual([id])
})

test('"interval" leaves a file whose sync has failed, and continues in a new one', async () => {
  const [fs, clock] = [modelFiles(), virtualClock()]
  const { shipper, got } = await open(fs, { clock, durability: 'interval', syncInterval: 500 })
  const ids = [await shipper.ship({ n: 1 })]
  let syncs = 0
  fs.fault = (operation, path) => {
    if (operation !== 'datasync' || !path.includes('-00000000.')) return undefined
    syncs++
    return { code: 'EIO' }
  }
  await clock.advance(500)
  ids.push(await shipper.ship({ n: 2 }))
  await clock.advance(2000)
  expect(syncs).toBe(1)
  expect(segments(fs)).toHaveLength(2)
  await shipper.flush()
  expect(got).toEqual(ids)
})

test('"os" loses nothing when only the process dies', async () => {
  const fs = modelFiles()
  const { shipper } = await open(fs, { durability: 'os', identity: gone })
  const id = await shipper.ship({ n: 1 })
  const after = await open(fs.afterCrash('keep'))
  await after.shipper.flush()
  expect(after.got).toEqual([id])
})

test('the open segment of another container is taken over only after it was silent for long', async () => {
  const fs = modelFiles()
  const elsewhere = { ...thisProcess(), machine: '0123456789abcdef' }
  const appender = await createAppender({ dir: '/buffer', fs, identity: elsewhere })
  const id = await appender.append({ n: 1 })
  const { shipper, got } = await open(fs)
  await shipper.flush()
  expect(got).toEqual([])
  const [path = ''] = segments(fs)
  Object.assign(fs.files.get(path)!, { modifiedMs: Date.now() - 120_000 })
  await shipper.flush()
  expect(got).toEqual([id])
  // It was only idle: what it stores now goes to a new segment, and is shipped when that is finished.
  const next = await appender.append({ n: 2 })
  await appender.close()
  await shipper.flush()
  expect(got).toEqual([id, next])
})

test('an earlier open segment of a producer is taken as soon as there is a later one', async () => {
  const fs = modelFiles()
  const { shipper, got } = await open(fs)
  const first = await shipper.ship({ n: 1 })
  // The disk fails so that the segment can neither be finished nor renamed, and then recovers.
  fs.fault = (operation, path) => {
    const isFirst = path.includes('-00000000.')
    return isFirst && ['write', 'rename', 'truncate'].includes(operation) ? { code: 'EIO' } : undefined
  }
  const second = await shipper.ship({ n: 2 })
  fs.fault = undefined
  await shipper.flush()
  expect(got).toEqual([first, second])
})
