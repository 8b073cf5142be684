import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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

const isBatch = (path: string) => !path.endsWith('/capacity')

async function setUp(answer: Intercept, options: Partial<ShipperOptions> = {}) {
  const collector = await startCollector()
  closers.push(() => collector.close())
  collector.intercept = (request, response) => (isBatch(request.path) ? answer(request, response) : false)
  const shipper = await createShipper({
    ...{ dir: mkdtempSync(join(tmpdir(), 'sluice-hostile-')), endpoint: collector.url, flushInterval: false },
    ...{ timeout: 2000, backoff: { base: 1, max: 2 } },
    ...options,
  })
  closers.push(() => shipper.close())
  return { collector, shipper }
}

async function ship(shipper: Shipper, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => shipper.ship({ n })))
}

/** Whatever the server did before: once it works again, every event has arrived. */
async function expectAll(collector: Collector, shipper: Shipper, ids: readonly string[]): Promise<void> {
  collector.intercept = undefined
  await expect.poll(() => shipper.flush()).toMatchObject({ outcome: 'drained', pending: 0 })
  expect([...collector.events.keys()].sort()).toEqual([...ids].sort())
}

const nothingAccepted: [string, unknown][] = [
  ['no results', []],
  ['results for ids that were never sent', [{ id: 'ffffffffffffffffffffffff-1', status: 'ok' }]],
  ['results that are no objects', [null, 1, 'ok', [], true]],
  ['a status that does not exist', [{ id: '*', status: 'fine' }]],
  ['a status that every object has', [{ id: '*', status: 'constructor' }]],
  ['the id as a number', [{ id: 1, status: 'ok' }]],
]

test.each(nothingAccepted)('%s: nothing counts as stored', async (_, results) => {
  const { collector, shipper } = await setUp((request, response) => {
    const ids = request.events.map(({ id }) => id)
    const given = (results as { id?: unknown }[]).map((each) => (each?.id === '*' ? { ...each, id: ids[0] } : each))
    json(response, 200, { results: given })
    return true
  })
  const ids = await ship(shipper, 5)
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 0, rejected: 0, pending: 5 })
  await expectAll(collector, shipper, ids)
})

test.each([
  ['ok', 'retry'],
  ['retry', 'ok'],
  ['rejected', 'ok'],
])('two answers for one event (%s, %s) do not lose it', async (...statuses) => {
  const { collector, shipper } = await setUp((request, response) => {
    json(response, 200, { results: request.events.flatMap(({ id }) => statuses.map((status) => ({ id, status }))) })
    return true
  })
  const ids = await ship(shipper, 3)
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 0, rejected: 0, pending: 3 })
  await expectAll(collector, shipper, ids)
})

test.each<[string, unknown]>([
  ['an object', { 'ffffffffffffffffffffffff-1': 'ok' }],
  ['a text', 'ok'],
  ['a number', 3],
])('results that are %s and no list accept nothing, from a server and from a function', async (_, results) => {
  const { collector, shipper } = await setUp((_request, response) => {
    json(response, 200, { results })
    return true
  })
  const ids = await ship(shipper, 3)
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 0, pending: 3 })
  await expectAll(collector, shipper, ids)
  const own = await createShipper({
    ...{ dir: mkdtempSync(join(tmpdir(), 'sluice-hostile-')), flushInterval: false },
    send: async () => ({ results }) as never,
  })
  closers.push(() => own.close())
  const failures: unknown[] = []
  own.on('storageFailed', (failure) => failures.push(failure))
  await ship(own, 3)
  expect(await own.flush()).toMatchObject({ outcome: 'failed', sent: 0, pending: 3 })
  expect(failures).toEqual([])
})

test('an answer that never ends is aborted at the time limit, and one that is too long at its length', async () => {
  let written = 0
  const endless: Intercept = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const chunk = Buffer.alloc(1 << 20, 0x20)
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length
      if (!response.destroyed) response.once('drain', more)
    }
    more()
    return true
  }
  const { collector, shipper } = await setUp(endless, { timeout: 20_000 })
  const ids = await ship(shipper, 3)
  const report = await shipper.flush()
  expect(report).toMatchObject({ outcome: 'failed', sent: 0, pending: 3, reason: expect.stringContaining('bytes') })
  expect(written).toBeLessThan(200 << 20)
  await expectAll(collector, shipper, ids)
})

test('an answer that trickles is aborted at the time limit', async () => {
  const { collector, shipper } = await setUp(
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 20)
      response.once('close', () => clearInterval(timer))
      return true
    },
    { timeout: 300 },
  )
  const ids = await ship(shipper, 3)
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 0, pending: 3 })
  await expectAll(collector, shipper, ids)
})

test.each([301, 302, 303, 307, 308])(
  'a redirect (%s) does not carry credentials or events to another host',
  async (status) => {
    let asked = 0
    const thief = createServer((_, response) => {
      asked++
      response.end('{}')
    })
    await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve))
    closers.push(() => new Promise((resolve) => thief.close(resolve)))
    const location = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/`
    const { collector, shipper } = await setUp(
      (_, response) => {
        response.writeHead(status, { location }).end()
        return true
      },
      { headers: { authorization: 'Bearer secret' } },
    )
    const ids = await ship(shipper, 3)
    expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 0, pending: 3 })
    expect(asked).toBe(0)
    await expectAll(collector, shipper, ids)
  },
)

test.each<[string, unknown, object]>([
  [
    'a capacity of nothing',
    { ready: true, maxBatchSize: 0, delayBetweenBatches: 0 },
    { maxBatchSize: 1, loadPercent: null },
  ],
  [
    'negative figures',
    { ready: true, maxBatchSize: -5, delayBetweenBatches: -100, loadPercent: -1 },
    { maxBatchSize: 1, delayBetweenBatches: 0, loadPercent: 0 },
  ],
  [
    'figures that are text',
    { ready: true, maxBatchSize: '10', delayBetweenBatches: 'soon', loadPercent: 'high' },
    { maxBatchSize: 100, delayBetweenBatches: 100, loadPercent: null },
  ],
  [
    'figures beyond all bounds',
    { ready: true, maxBatchSize: 1e308, delayBetweenBatches: 0, loadPercent: 1e308 },
    { loadPercent: 100 },
  ],
])('%s as capacity are clamped, and do not stop the shipper for good', async (_, capacity, taken) => {
  const { collector, shipper } = await setUp(() => false)
  collector.capacity = capacity as Collector['capacity']
  const ids = await ship(shipper, 3)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 3 })
  expect(shipper.stats().lastCapacity).toMatchObject(taken)
  await expectAll(collector, shipper, ids)
})

test('a server that asks for a wait of a century is tried again within the longest wait', async () => {
  const { collector, shipper } = await setUp(() => false, { backoff: { maxRetryAfter: 60_000 } })
  collector.capacity = { ready: false, retryAfter: 3.2e9 }
  await ship(shipper, 1)
  const report = await shipper.flush()
  expect(report.outcome).toBe('not-ready')
  expect(report.nextAttemptInMs).toBeLessThanOrEqual(60_000)
})

test('events that are unusual as JSON arrive unchanged', async () => {
  const { collector, shipper } = await setUp(() => false)
  const events: unknown[] = [
    JSON.parse('{"__proto__":{"admin":true},"constructor":1}'),
    { lone: '\ud800', pair: '😀', separators: '\u2028\u2029', zero: '\0' },
    { missing: undefined, list: [undefined, Number.NaN], date: new Date(0) },
    null,
    '',
    0,
    false,
    'x'.repeat(500_000),
  ]
  const ids = await Promise.all(events.map((event) => shipper.ship(event)))
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: events.length })
  for (const [i, id] of ids.entries()) {
    expect(JSON.stringify(collector.events.get(id)?.data)).toBe(JSON.stringify(events[i]))
  }
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  const hostile = {
    toJSON: () => {
      throw new Error('no')
    },
  }
  for (const bad of [cyclic, 1n, { n: 1n }, undefined, () => 1, Symbol('s'), hostile]) {
    await expect(shipper.ship(bad)).rejects.toMatchObject({ code: 'SLUICE_INVALID_EVENT' })
  }
  await expect(shipper.ship('x'.repeat(10 << 20))).rejects.toMatchObject({ code: 'SLUICE_EVENT_TOO_LARGE' })
  expect(shipper.stats()).toMatchObject({ pending: 0, refused: 8 })
})

const page = '<!doctype html><title>Sign in</title>'

test.each<[string, string | Buffer, string | undefined]>([
  ['as text/html', page, 'text/html; charset=utf-8'],
  ['without a content type', page, undefined],
  ['as text/plain', page, 'text/plain'],
  ['as application/xhtml+xml', `<?xml version="1.0"?>\n${page}`, 'application/xhtml+xml'],
  ['as application/json', `\n\n  ${page}`, 'application/json'],
  ['with a byte order mark', `\ufeff${page}`, undefined],
  ['in UTF-16', Buffer.from(`\ufeff${page}`, 'utf16le'), undefined],
])('a web page %s is no acknowledgement', async (_, body, type) => {
  const { collector, shipper } = await setUp((_request, response) => {
    response.writeHead(200, type === undefined ? {} : { 'content-type': type }).end(body)
    return true
  })
  const ids = await ship(shipper, 3)
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', sent: 0, reason: 'answered with a web page' })
  await expectAll(collector, shipper, ids)
})

test.each(['', 'OK', '{}', 'null', '"stored <all> of it"'])('%j with 200 accepts all', async (body) => {
  const { shipper } = await setUp((_request, response) => {
    response.writeHead(200).end(body)
    return true
  })
  await ship(shipper, 3)
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 3 })
})
