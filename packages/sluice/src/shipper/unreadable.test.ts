import { expect, test } from 'vitest'
import { modelFiles } from '../testing/shipper/model-files.ts'
import { createShipper } from './create-shipper.ts'
import { inspectBuffer } from './inspect/inspect-buffer.ts'
import { thisProcess } from './owner/process-identity.ts'

async function setUp() {
  const fs = modelFiles()
  const identity = { ...thisProcess(), pid: 5_000_000, started: 1 }
  const shipper = await createShipper({ dir: '/buffer', fs, flushInterval: false, identity, send: async () => {} })
  return { fs, shipper }
}

test.each(['open', 'read'])(
  'a segment that cannot be read (%s fails) is never reported as drained',
  async (operation) => {
    const { fs, shipper } = await setUp()
    const first = await shipper.ship({ n: 1 })
    await shipper.close()
    const got: string[] = []
    const again = await createShipper({
      ...{ dir: '/buffer', fs, flushInterval: false },
      identity: { ...thisProcess(), pid: 5_000_001, started: 2 },
      send: async (events) => void got.push(...events.map(({ id }) => id)),
    })
    const second = await again.ship({ n: 2 })
    const isFirst = (path: string) => path.includes(first.split('-')[0] as string) && /\.(open|seg)$/.test(path)
    fs.fault = (name, path) => (name === operation && isFirst(path) ? { code: 'EIO' } : undefined)
    const report = await again.flush()
    expect(report).toMatchObject({ outcome: 'unreadable', sent: 1, reason: expect.stringContaining('cannot be read') })
    expect(await again.flush()).toMatchObject({ outcome: 'unreadable', sent: 0 })
    expect((await inspectBuffer('/buffer', { fs })).unreadableFiles).toHaveLength(1)
    expect(got).toEqual([second])
    fs.fault = undefined
    expect(await again.flush()).toMatchObject({ outcome: 'drained', sent: 1, pending: 0 })
    expect(got).toEqual([second, first])
    expect((await inspectBuffer('/buffer', { fs })).unreadableFiles).toEqual([])
  },
)

test('a segment that cannot be read when the shipper starts is not reported as drained either', async () => {
  const { fs, shipper } = await setUp()
  await shipper.ship({ n: 1 })
  await shipper.close()
  fs.fault = (name, path) => (name === 'open' && /\.(open|seg)$/.test(path) ? { code: 'EMFILE' } : undefined)
  const again = await createShipper({ dir: '/buffer', fs, flushInterval: false, send: async () => {} })
  expect(await again.flush()).toMatchObject({ outcome: 'unreadable', sent: 0, pending: 1 })
  expect(again.stats().pending).toBe(1)
  fs.fault = undefined
  expect(await again.flush()).toMatchObject({ outcome: 'drained', sent: 1 })
})
