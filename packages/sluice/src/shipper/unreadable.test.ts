import { expect, test } from 'vitest'
import { modelFiles } from '../testing/shipper/model-files.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createAppender } from './create-appender.ts'
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

test('what is set aside is the event itself, also where a segment could not be read while others were in flight', async () => {
  const fs = modelFiles()
  const identity = { ...thisProcess(), pid: 5_000_000, started: 1 }
  const clock = virtualClock()
  const producers: string[] = []
  for (const count of [3, 5, 3]) {
    const appender = await createAppender({ dir: '/buffer', fs, identity, clock })
    // Segments are sent in the order in which they were begun.
    await clock.advance(1000)
    const ids = await Promise.all(
      Array.from({ length: count }, (_, i) => appender.append({ producer: producers.length, i })),
    )
    producers.push(ids[0]!.split('-')[0]!)
    await appender.close()
  }
  const [first, second, last] = producers
  const isRefused = (id: string): boolean => id.startsWith(first!) || id === `${second}-5`
  const sent: number[] = []
  const shipper = await createShipper({
    ...{ dir: '/buffer', fs, flushInterval: false, maxBatchEvents: 4 },
    send: async (events) => {
      sent.push(events.length)
      return { results: events.map(({ id }) => ({ id, status: isRefused(id) ? 'rejected' : 'ok' })) }
    },
    capacity: async () => ({ ready: true, maxBatchSize: 4, delayBetweenBatches: 0, maxInFlight: 3 }),
  })
  // Once each: the first segment when the first batch is taken, and the last one when the third is.
  const opened = new Map<string, number>()
  fs.fault = (name, path) => {
    const producer = [first!, last!].find((each) => path.includes(each))
    if (name !== 'open' || producer === undefined || !path.endsWith('.seg')) return undefined
    const count = (opened.get(producer) ?? 0) + 1
    opened.set(producer, count)
    return count === 1 ? { code: 'EIO' } : undefined
  }
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', rejected: 4 })
  expect(sent).toEqual([4, 4, 3])
  await shipper.close()
  const aside = [...fs.files].filter(([path]) => path.includes('rejected-')).map(([, { data }]) => data.toString())
  expect(
    aside
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).data),
  ).toEqual([...[0, 1, 2].map((i) => ({ producer: 0, i })), { producer: 1, i: 4 }])
})
