import { expect, test } from 'vitest'
import { type ModelFiles, modelFiles } from '../testing/shipper/model-files.ts'
import { createShipper } from './create-shipper.ts'
import { reserveBytes } from './log/reserve.ts'
import { thisProcess } from './owner/process-identity.ts'

const mebibyte = 1 << 20

/** A disk of this size: a write that does not fit fails, and changes nothing. */
function smallDisk(bytes: number): ModelFiles {
  const fs = modelFiles()
  const freeBytes = (): number => {
    let used = 0
    for (const { data } of new Set(fs.files.values())) used += data.length
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
  fs.space = async () => ({ freeBytes: freeBytes(), totalBytes: bytes })
  return fs
}

let pid = 5_000_000

async function start(onFull: 'wait' | 'refuse', bytes = 3 * mebibyte, fs = smallDisk(bytes), minFreeBytes = 0) {
  const server = { isUp: false, got: [] as string[] }
  const shipper = await createShipper({
    dir: '/buffer',
    fs,
    onFull,
    minFreeBytes,
    // A process that has ended, so that another one may take over.
    identity: { ...thisProcess(), pid: pid++, started: 1 },
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
  return { fs, server, shipper, acknowledged, store }
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

test('events leave the space of a reserve that was released, also if no write of theirs has failed', async () => {
  const { fs, shipper, acknowledged, store } = await start('refuse')
  expect(await store()).toBe(true)
  await fs.remove('/buffer/reserve')
  while (await store());
  expect(fs.freeBytes).toBeGreaterThanOrEqual(reserveBytes)
  expect(acknowledged.length).toBeGreaterThan(100)
  expect(shipper.stats().isFull).toBe(true)
  await shipper.close()
})

/** As when other programs fill the disk, and the reserve was needed before. */
async function fill(fs: ModelFiles): Promise<void> {
  if (fs.exists('/buffer/reserve')) await fs.remove('/buffer/reserve')
  const file = await fs.open('/buffer/of-another-program', 'create')
  await file.write([Buffer.alloc(fs.freeBytes)], 0)
  await file.close()
}

test.each([
  ['has shipped some of it', true],
  ['has shipped nothing', false],
])(
  'a process that starts on a disk without any space takes over from one that %s, and drains it',
  async (_, hasShipped) => {
    const former = await start('refuse')
    former.server.isUp = hasShipped
    await former.store(100)
    await former.shipper.flush()
    for (let n = 0; n < 1000; n++) await former.store(1000)
    await former.shipper.close()
    await fill(former.fs)
    const { server, shipper } = await start('refuse', 0, former.fs)
    server.isUp = true
    await expect.poll(async () => (await shipper.flush()).outcome).toBe('drained')
    expect(shipper.stats()).toMatchObject({ isOwner: true, pending: 0, lost: 0 })
    expect([...former.server.got, ...server.got]).toEqual(former.acknowledged)
    await shipper.close()
  },
)

test('minFreeBytes: events that wait are stored once the only segment is shipped', async () => {
  const { server, shipper, acknowledged, store } = await start('wait', 0, smallDisk(4 * mebibyte), 3 * mebibyte)
  server.isUp = true
  const storing = (async () => {
    for (let n = 0; n < 100; n++) await store()
  })()
  await expect
    .poll(
      async () => {
        await shipper.flush()
        return server.got.length
      },
      { timeout: 20_000 },
    )
    .toBe(100)
  await storing
  expect(server.got).toEqual(acknowledged)
  await shipper.close()
})
