import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createIngest } from '../../capacity/ingest/create-ingest.ts'
import { json, startCollector } from '../../testing/shipper/collector.ts'
import { createShipper } from '../create-shipper.ts'
import type { ShipperOptions } from '../options.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const isBatch = (path: string) => !path.endsWith('/capacity')

async function setUp(maxInFlight: number, options: Partial<ShipperOptions> = {}) {
  const collector = await startCollector()
  closers.push(() => collector.close())
  collector.capacity = { ready: true, maxBatchSize: 10, delayBetweenBatches: 0, maxInFlight }
  const dir = mkdtempSync(join(tmpdir(), 'sluice-flights-'))
  const backoff = { base: 1, max: 2 }
  const open = () => createShipper({ dir, endpoint: collector.url, flushInterval: false, backoff, ...options })
  const shipper = await open()
  closers.push(() => shipper.close())
  return { collector, shipper, open }
}

const shipMany = (shipper: Awaited<ReturnType<typeof createShipper>>, count: number) =>
  Promise.all(Array.from({ length: count }, (_, n) => shipper.ship({ n })))

test.each([1, 4])('as many batches are in flight as the server allows: %i', async (maxInFlight) => {
  const { collector, shipper } = await setUp(maxInFlight)
  let [inFlight, most] = [0, 0]
  let release = () => {}
  collector.intercept = async ({ path }) => {
    if (!isBatch(path)) return false
    most = Math.max(most, ++inFlight)
    // All wait for the last that may come.
    if (inFlight === maxInFlight) release()
    else await new Promise<void>((resolve) => (release = chain(release, resolve)))
    inFlight--
    return false
  }
  const ids = await shipMany(shipper, maxInFlight * 30)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: ids.length, pending: 0 })
  expect(most).toBe(maxInFlight)
  expect([collector.events.size, collector.duplicates]).toEqual([ids.length, 0])
})

const chain = (first: () => void, second: () => void) => () => {
  first()
  second()
}

/** A collector that stores through an ingest, slower for some batches than for others, and fails now and then. */
async function ingesting(maxInFlight: number, fails: (batch: number) => boolean) {
  const stored: string[] = []
  let batches = 0
  const ingest = await createIngest({
    async accept(events) {
      const batch = batches++
      // Turns of the event loop, so that a later batch would overtake this one.
      for (let turn = (batch * 7) % 5; turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve))
      if (fails(batch)) throw new Error('not now')
      stored.push(...events.map(({ id }) => id))
    },
  })
  closers.push(() => ingest.close())
  const made = await setUp(maxInFlight)
  made.collector.intercept = async (request, response) => {
    if (!isBatch(request.path)) return false
    const { status, body } = await ingest.receive(request.body)
    json(response, status, body)
    return true
  }
  return { ...made, stored, ingest }
}

test('an ingest stores batches that are in flight together in their order', async () => {
  const { shipper, stored } = await ingesting(8, () => false)
  const ids = await shipMany(shipper, 1000)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 1000 })
  expect(stored).toEqual(ids)
})

test('a batch that fails does not let those behind it be stored before it, and nothing is lost', async () => {
  const { shipper, stored } = await ingesting(8, (batch) => batch % 9 === 4)
  const ids = await shipMany(shipper, 1000)
  await expect.poll(async () => (await shipper.flush()).outcome).toBe('drained')
  expect(stored).toEqual(ids)
  expect(shipper.stats()).toMatchObject({ pending: 0, lost: 0, rejected: 0 })
})

test('with several servers behind one address batches go one by one, in their order', async () => {
  const stored: string[] = []
  const ingests = await Promise.all(
    [1, 2].map(() => createIngest({ accept: (events) => void stored.push(...events.map(({ id }) => id)) })),
  )
  closers.push(...ingests.map((ingest) => () => ingest.close()))
  const { collector, shipper } = await setUp(4)
  let turn = 0
  collector.intercept = async (request, response) => {
    if (!isBatch(request.path)) return false
    const { status, body } = await ingests[turn++ % 2]!.receive(request.body)
    json(response, status, body)
    return true
  }
  const ids = await shipMany(shipper, 300)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 300, rejected: 0 })
  expect(stored).toEqual(ids)
  expect(shipper.stats()).toMatchObject({ consecutiveFailures: 0, backoffLevel: 0 })
})

test('what was in flight when a pass failed is sent again, by the next process too', async () => {
  const { collector, shipper, open } = await setUp(4)
  let batches = 0
  collector.intercept = ({ path }, response) => {
    if (!isBatch(path) || ++batches !== 3) return false
    json(response, 500, {})
    return true
  }
  const ids = await shipMany(shipper, 100)
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 20, pending: 80 })
  await shipper.close()
  const next = await open()
  closers.push(() => next.close())
  await expect.poll(async () => (await next.flush()).outcome).toBe('drained')
  expect([...collector.events.keys()].sort()).toEqual([...ids].sort())
})

test('an event that the server refuses is set aside, and those of batches in flight are not', async () => {
  const { collector, shipper } = await setUp(4)
  collector.intercept = ({ path, events }, response) => {
    if (!isBatch(path) || !events.some(({ data }) => (data as { n: number }).n === 33)) return false
    json(response, 400, { error: 'no such field' })
    return true
  }
  const ids = await shipMany(shipper, 200)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 199, rejected: 1 })
  expect([...collector.events.keys()].sort()).toEqual(ids.filter((_, n) => n !== 33).sort())
})

test('close waits for all batches in flight, and records them', async () => {
  const { collector, shipper } = await setUp(4)
  const ids = await shipMany(shipper, 200)
  let closing: Promise<{ pending: number }> | undefined
  collector.intercept = ({ path }) => {
    if (isBatch(path)) closing ??= shipper.close()
    return false
  }
  const { sent } = await shipper.flush()
  expect(sent).toBe(collector.events.size)
  expect((await closing!).pending).toBe(ids.length - sent)
  expect(sent).toBeLessThan(200)
})
