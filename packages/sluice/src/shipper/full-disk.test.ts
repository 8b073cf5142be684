import { expect, test } from 'vitest'
import { type ModelFiles, modelFiles } from '../testing/shipper/model-files.ts'
import { createShipper } from './create-shipper.ts'

const mebibyte = 1 << 20

/** A disk of this size: a write that does not fit fails, and changes nothing. */
function smallDisk(bytes: number): ModelFiles {
  const fs = modelFiles()
  const freeBytes = (): number => {
    let used = 0
    for (const { data } of fs.files.values()) used += data.length
    return bytes - used
  }
  const open = fs.open.bind(fs)
  fs.open = async (path, mode) => {
    const file = await open(path, mode)
    const write = file.write.bind(file)
    file.write = async (chunks, position) => {
      const end = position + chunks.reduce((sum, { length }) => sum + length, 0)
      const added = Math.max(0, end - (fs.files.get(path)?.data.length ?? 0))
      if (added > freeBytes()) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })
      return write(chunks, position)
    }
    return file
  }
  Object.defineProperty(fs, 'freeBytes', { get: freeBytes })
  return fs
}

async function start(onFull: 'wait' | 'refuse', bytes = 4 * mebibyte) {
  const server = { isUp: false, got: [] as string[] }
  const shipper = await createShipper({
    dir: '/buffer',
    fs: smallDisk(bytes),
    onFull,
    flushInterval: false,
    backoff: { base: 0 },
    capacity: async () => ({ ready: true, maxBatchSize: 100, delayBetweenBatches: 0 }),
    send: async (events) => {
      if (!server.isUp) return { status: 503 }
      server.got.push(...events.map(({ id }) => id))
      return undefined
    },
  })
  const acknowledged: string[] = []
  const store = async (bytes = 20_000): Promise<boolean> => {
    const id = await shipper.ship('x'.repeat(bytes)).catch(() => undefined)
    if (id !== undefined) acknowledged.push(id)
    return id !== undefined
  }
  return { server, shipper, acknowledged, store }
}

test.each([
  ['that one segment has filled', 4 * mebibyte],
  ['that is too small for a reserve', mebibyte],
  ['that is smaller than a reserve', 200 * 1024],
])('a disk %s has room for those that wait once it is shipped', async (_, bytes) => {
  const { server, shipper, acknowledged, store } = await start('wait', bytes)
  const isFull = new Promise<void>((resolve) => shipper.on('fullChanged', () => resolve()))
  while (!shipper.stats().isFull) await Promise.race([store(), isFull])
  const before = acknowledged.length
  expect(before).toBeGreaterThan(5)
  for (let failures = 0; failures < 3; failures++) await shipper.flush()
  server.isUp = true
  await expect
    .poll(async () => {
      await shipper.flush()
      return acknowledged.length
    })
    .toBe(before + 1)
  await expect.poll(async () => (await shipper.flush()).pending).toBe(0)
  expect(server.got).toEqual(acknowledged)
  await shipper.close()
})

test('the space of the reserve is not for events: with it the owner records what it ships', async () => {
  const { server, shipper, acknowledged, store } = await start('refuse')
  // Until not even the state of the flow can be written.
  for (const bytes of [20_000, 1000, 50, 1]) while (await store(bytes));
  const before = acknowledged.length
  for (let failures = 0; failures < 3; failures++) {
    // Records the failure, for which the reserve is released.
    await shipper.flush()
    for (const bytes of [20_000, 1000, 50, 1]) while (await store(bytes));
  }
  expect(acknowledged).toHaveLength(before)
  server.isUp = true
  await expect.poll(async () => (await shipper.flush()).outcome).toBe('drained')
  expect(server.got).toEqual(acknowledged)
  expect(await store()).toBe(true)
  await shipper.close()
})
