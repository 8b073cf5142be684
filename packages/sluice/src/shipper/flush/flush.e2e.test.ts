import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Collector, type Intercept, json, startCollector } from '../../testing/shipper/collector.ts'
import { createShipper } from '../create-shipper.ts'
import type { ShipperOptions } from '../options.ts'
import type { Shipper } from '../shipper.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const tempDir = () => mkdtempSync(join(tmpdir(), 'sluice-shipper-'))

async function setUp(options: Partial<ShipperOptions> = {}, intercept?: Intercept) {
  const collector = await startCollector()
  collector.intercept = intercept
  const dir = tempDir()
  const shipper = await open(dir, collector, options)
  closers.push(() => collector.close())
  return { collector, dir, shipper }
}

async function open(dir: string, collector: Collector, options: Partial<ShipperOptions> = {}): Promise<Shipper> {
  const backoff = { base: 1, max: 4, notReady: 1, ...options.backoff }
  const shipper = await createShipper({ dir, endpoint: collector.url, flushInterval: false, ...options, backoff })
  closers.push(() => shipper.close())
  return shipper
}

const shipMany = (shipper: Shipper, count: number, from = 0) =>
  Promise.all(Array.from({ length: count }, (_, i) => shipper.ship({ n: from + i })))
const numbers = (collector: Collector) => [...collector.events.values()].map(({ data }) => (data as { n: number }).n)
const isBatch = (path: string) => !path.endsWith('/capacity')

test('the simplest form works as written', async () => {
  const { collector, shipper } = await setUp()
  const id = await shipper.ship({ type: 'tool-call', ms: 12 })
  expect(id).toMatch(/^[0-9a-f]{24}-1$/)
  const report = await shipper.flush()
  expect(report).toMatchObject({ outcome: 'drained', sent: 1, pending: 0 })
  expect(collector.requests.map(({ path, body }) => [path, body])).toEqual([
    ['/v1/events/capacity', { shipper: expect.stringMatching(/^[0-9a-f]{24}$/), pending: 1 }],
    ['/v1/events', { events: [{ id, data: { type: 'tool-call', ms: 12 } }] }],
  ])
  expect(await shipper.close()).toEqual({ pending: 0, bytesOnDisk: expect.any(Number) })
})

test('it flushes by itself', async () => {
  const { collector, shipper } = await setUp({ flushInterval: 10 })
  await shipMany(shipper, 10)
  await expect.poll(() => collector.events.size).toBe(10)
  await shipMany(shipper, 10)
  await expect.poll(() => collector.events.size).toBe(20)
})

test('requests capacity again every 100 events, and sends no larger batch than the server takes', async () => {
  const { collector, shipper } = await setUp()
  collector.capacity = { ready: true, maxBatchSize: 40, delayBetweenBatches: 0 }
  await shipMany(shipper, 250)
  await shipper.flush()
  const sizes = collector.requests.map(({ path, events }) => (isBatch(path) ? events.length : 'capacity'))
  expect(sizes).toEqual(['capacity', 40, 40, 40, 'capacity', 40, 40, 40, 'capacity', 10])
  expect(numbers(collector)).toEqual(Array.from({ length: 250 }, (_, i) => i))
})

test('the delay between batches also holds from one pass to the next, and across processes', async () => {
  const times: number[] = []
  const { collector, dir, shipper } = await setUp({}, ({ path }) => {
    if (isBatch(path)) times.push(performance.now())
    return false
  })
  collector.capacity = { ready: true, maxBatchSize: 10, delayBetweenBatches: 300 }
  for (let pass = 0; pass < 2; pass++) {
    await shipMany(shipper, 1)
    await shipper.flush()
  }
  await shipper.close()
  const hook = await open(dir, collector)
  await shipMany(hook, 1)
  await hook.flush()
  expect(times).toHaveLength(3)
  for (const [i, time] of times.slice(1).entries()) expect(time - times[i]!).toBeGreaterThanOrEqual(290)
})

test.each([404, 405])('continues with 100 events at a time when capacity is answered with %s', async (status) => {
  const { collector, shipper } = await setUp({}, ({ path }, response) => {
    if (!isBatch(path)) json(response, status, {})
    return !isBatch(path)
  })
  await shipMany(shipper, 150)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 150 })
  expect(collector.requests.filter(({ path }) => isBatch(path)).map(({ events }) => events.length)).toEqual([100, 50])
})

test('not ready: sends nothing, changes neither level nor failures, and tries again when it is time', async () => {
  const { collector, shipper } = await setUp()
  await shipMany(shipper, 3)
  collector.capacity = { ready: false, retryAfter: 3600, loadPercent: 97, message: 'busy' }
  expect(await shipper.flush()).toMatchObject({ outcome: 'not-ready', sent: 0, pending: 3 })
  expect(shipper.stats()).toMatchObject({ backoffLevel: 0, consecutiveFailures: 0, lastCapacity: { loadPercent: 97 } })
  expect(shipper.stats().nextAttemptInMs).toBeGreaterThan(3_500_000)
  expect(await shipper.flush()).toMatchObject({ outcome: 'waiting' })
  expect(collector.requests).toHaveLength(1)
})

test('503 to a capacity request is "not ready"', async () => {
  const { shipper } = await setUp({}, (_, response) => {
    json(response, 503, {}, { 'retry-after': '120' })
    return true
  })
  await shipMany(shipper, 3)
  expect(await shipper.flush()).toMatchObject({ outcome: 'not-ready' })
  expect(shipper.stats()).toMatchObject({ backoffLevel: 0, consecutiveFailures: 0 })
  expect(shipper.stats().nextAttemptInMs).toBeGreaterThan(119_000)
})

const reply = (status: number, body = '{}', headers: Record<string, string> = {}): Intercept => {
  return (_, response) => {
    response.writeHead(status, headers).end(body)
    return true
  }
}

const faults: [string, Intercept][] = [
  ['a 500', reply(500)],
  ['a 429', reply(429)],
  ['a 401', reply(401)],
  ['a 403', reply(403)],
  ['a 404 for the endpoint itself', reply(404)],
  ['a redirect', reply(302, '', { location: '/elsewhere' })],
  ['a captive portal', reply(200, '<html>', { 'content-type': 'text/html' })],
  ['a hang', () => true],
  [
    'a reset connection',
    (_, response) => {
      response.destroy()
      return true
    },
  ],
  [
    '200 and then a dropped connection',
    (_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"results":[')
      setTimeout(() => response.destroy(), 5)
      return true
    },
  ],
]

test.each(faults)('%s counts as a failure and loses nothing', async (_, fault) => {
  const { collector, shipper } = await setUp({ timeout: 300 }, (request, response) =>
    isBatch(request.path) ? fault(request, response) : false,
  )
  await shipMany(shipper, 20)
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 0, rejected: 0, pending: 20 })
  expect(shipper.stats()).toMatchObject({ backoffLevel: 1, consecutiveFailures: 1 })
  collector.intercept = undefined
  await expect.poll(() => shipper.flush()).toMatchObject({ outcome: 'drained', sent: 20, pending: 0 })
  expect(shipper.stats()).toMatchObject({ backoffLevel: 0, consecutiveFailures: 0 })
  expect(numbers(collector)).toEqual(Array.from({ length: 20 }, (_, i) => i))
})

test('a poison event is found by splitting and set aside; all others arrive in order', async () => {
  const { collector, dir, shipper } = await setUp({}, ({ events }, response) => {
    const isPoisoned = events.some(({ data }) => [13, 57].includes((data as { n: number }).n))
    if (isPoisoned) json(response, 422, { error: 'cannot take this' })
    return isPoisoned
  })
  const rejected: string[] = []
  shipper.on('rejected', ({ reason }) => rejected.push(reason))
  await shipMany(shipper, 100)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 98, rejected: 2, pending: 0 })
  expect(numbers(collector)).toEqual(Array.from({ length: 100 }, (_, i) => i).filter((n) => n !== 13 && n !== 57))
  expect(rejected).toEqual(['status 422: {"error":"cannot take this"}', 'status 422: {"error":"cannot take this"}'])
  const file = readdirSync(dir).find((name) => name.startsWith('rejected-'))!
  const lines = readFileSync(join(dir, file), 'utf8').trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).data)).toEqual([{ n: 13 }, { n: 57 }])
})

test('a server that refuses everything does not empty the buffer at full speed', async () => {
  const { shipper } = await setUp({}, ({ path }, response) => {
    if (isBatch(path)) json(response, 400, {})
    return isBatch(path)
  })
  await shipMany(shipper, 1000)
  const report = await shipper.flush()
  expect(report).toMatchObject({ outcome: 'failed', rejected: 100, pending: 900 })
})

test('413 halves the batch until it fits', async () => {
  const { collector, shipper } = await setUp({}, ({ events }, response) => {
    if (events.length > 30) json(response, 413, {})
    return events.length > 30
  })
  await shipMany(shipper, 200)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 200, rejected: 0 })
  expect(numbers(collector)).toEqual(Array.from({ length: 200 }, (_, i) => i))
})

test('a server that rejects every event, one by one in its results, is failing too', async () => {
  const { collector, shipper } = await setUp()
  await Promise.all(Array.from({ length: 250 }, (_, n) => shipper.ship({ n })))
  collector.intercept = (request, response) => {
    if (request.path.endsWith('/capacity')) return false
    json(response, 200, { results: request.events.map(({ id }) => ({ id, status: 'rejected', reason: 'broken' })) })
    return true
  }
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 0, rejected: 100, pending: 150 })
  collector.intercept = undefined
  await expect.poll(() => shipper.flush()).toMatchObject({ outcome: 'drained', pending: 0 })
  expect(collector.events.size).toBe(150)
})

test('answers per event: rejected is set aside, retry is sent again, duplicate is fine', async () => {
  let first = true
  const { collector, shipper } = await setUp({}, ({ path, events }, response) => {
    if (!isBatch(path) || !first) return false
    first = false
    const results = events.map(({ id }, i) => ({
      id,
      status: ['ok', 'duplicate', 'retry', 'rejected'][i % 4],
      reason: 'why',
    }))
    json(response, 200, { results })
    return true
  })
  await shipMany(shipper, 8)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 4, duplicates: 2, rejected: 2, pending: 0 })
  expect(numbers(collector)).toEqual([2, 6])
})

test('events that the server does not mention in its results are sent again, not forgotten', async () => {
  let first = true
  const { collector, shipper } = await setUp({}, ({ path, events }, response) => {
    if (!isBatch(path) || !first) return false
    first = false
    json(response, 200, { results: events.slice(0, 2).map(({ id }) => ({ id, status: 'ok' })) })
    return true
  })
  await shipMany(shipper, 5)
  await shipper.flush()
  expect(numbers(collector)).toEqual([2, 3, 4])
})

test('compresses large bodies, and stops when the server cannot read them', async () => {
  const { collector, shipper } = await setUp({ gzipAboveBytes: 500 })
  await shipMany(shipper, 5)
  await shipper.flush()
  await shipMany(shipper, 100)
  await shipper.flush()
  expect(collector.requests.filter(({ path }) => isBatch(path)).map(({ zipped }) => zipped)).toEqual([false, true])
  collector.intercept = ({ zipped }, response) => {
    if (zipped) json(response, 415, {})
    return zipped
  }
  await shipMany(shipper, 100)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 100, rejected: 0 })
  await shipMany(shipper, 100)
  await shipper.flush()
  expect(collector.requests.slice(-4).map(({ zipped }) => zipped)).toEqual([true, false, false, false])
})

test('batches are bounded by bytes as well', async () => {
  const { collector, shipper } = await setUp({ maxBatchBytes: 5000, maxEventBytes: 3000, gzipAboveBytes: false })
  for (let n = 0; n < 10; n++) await shipper.ship({ n, text: 'x'.repeat(1500) })
  await shipper.flush()
  const sizes = collector.requests.filter(({ path }) => isBatch(path)).map(({ bytes }) => bytes)
  expect(sizes.length).toBeGreaterThanOrEqual(4)
  for (const size of sizes) expect(size).toBeLessThanOrEqual(5000)
})

test('headers are computed for each request', async () => {
  let token = 0
  const { collector, shipper } = await setUp({ headers: async () => ({ authorization: `Bearer ${++token}` }) })
  await shipMany(shipper, 1)
  await shipper.flush()
  expect(collector.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer 1', 'Bearer 2'])
})

test('level and next attempt are kept on disk across a restart', async () => {
  const { collector, dir, shipper } = await setUp({ backoff: { base: 60_000, max: 600_000 } }, (_, response) => {
    json(response, 500, {})
    return true
  })
  await shipMany(shipper, 5)
  await shipper.flush()
  await shipper.close()
  expect(JSON.parse(readFileSync(join(dir, '.backpressure-state'), 'utf8'))).toEqual({
    backoffLevel: 1,
    nextAttemptAfter: expect.any(Number),
    waitingSince: expect.any(Number),
    lastCapacity: null,
    consecutiveFailures: 1,
    lastSuccessTime: null,
    pendingEventCount: 5,
  })
  const again = await open(dir, collector, { backoff: { base: 60_000, max: 600_000 } })
  expect(await again.flush()).toMatchObject({ outcome: 'waiting', pending: 5 })
})

test('ends after the batch in flight and returns what is left', async () => {
  const { collector, shipper } = await setUp()
  collector.capacity = { ready: true, maxBatchSize: 10, delayBetweenBatches: 60_000 }
  await shipMany(shipper, 30)
  const flushing = shipper.flush()
  await expect.poll(() => collector.events.size).toBe(10)
  expect(await shipper.close()).toMatchObject({ pending: 20 })
  expect(await flushing).toMatchObject({ outcome: 'stopped', sent: 10, pending: 20 })
})

test('close sends what is left, but for no longer than it may', async () => {
  const { collector, shipper } = await setUp()
  await shipMany(shipper, 30)
  expect(await shipper.close({ within: '10s' })).toMatchObject({ pending: 0 })
  expect(collector.events.size).toBe(30)
  const hanging = await setUp({}, () => true)
  await shipMany(hanging.shipper, 5)
  expect(await hanging.shipper.close({ within: 50 })).toMatchObject({ pending: 5 })
})
