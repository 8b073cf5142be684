import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Intercept, json, startCollector } from '../../testing/shipper/collector.ts'
import { createShipper } from '../create-shipper.ts'
import type { ShipperOptions } from '../options.ts'
import type { Shipper } from '../shipper.ts'
import { rejectedEvents } from '../testing/rejected-events.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const refuse: Intercept = (_, response) => {
  json(response, 400, { error: 'broken release' })
  return true
}
const rejectEach: Intercept = ({ events }, response) => {
  json(response, 200, { results: events.map(({ id }) => ({ id, status: 'rejected', reason: 'broken release' })) })
  return true
}

/** A buffer with so many events, and a server that answers batches as given. */
async function setUp(
  count: number,
  answer: Intercept,
  { maxBatchSize = 100, delayBetweenBatches = 0, maxRefusals = 20 } = {},
) {
  const collector = await startCollector()
  closers.push(() => collector.close())
  collector.capacity = { ready: true, maxBatchSize, delayBetweenBatches }
  const dir = mkdtempSync(join(tmpdir(), 'sluice-refusals-'))
  const open = async (options: Partial<ShipperOptions> = {}): Promise<Shipper> => {
    const shipper = await createShipper({
      ...{ dir, endpoint: collector.url, flushInterval: false, durability: 'os', backoff: { base: 0 }, maxRefusals },
      ...options,
    })
    closers.push(() => shipper.close())
    return shipper
  }
  const shipper = await open()
  const ids = await Promise.all(Array.from({ length: count }, (_, n) => shipper.ship({ n })))
  const batches = () => collector.requests.filter(({ path }) => !path.endsWith('/capacity'))
  const answerBatches = (next: Intercept | undefined): void => {
    collector.intercept =
      next && ((request, response) => !request.path.endsWith('/capacity') && next(request, response))
  }
  answerBatches(answer)
  return { collector, dir, shipper, open, ids, batches, answerBatches, aside: async () => rejectedEvents(dir) }
}

const numberOf = (data: unknown) => (data as { n: number }).n

for (const [name, answer] of [
  ['a status', refuse],
  ['its results', rejectEach],
] as const) {
  test.each([
    [7, 20],
    [100, 100],
    [250, 20],
  ])(`a server that refuses all by ${name}, in batches of %s, is failing`, async (maxBatchSize, maxRefusals) => {
    const { shipper, aside } = await setUp(600, answer, { maxBatchSize, maxRefusals })
    const report = await shipper.flush()
    expect(report).toMatchObject({ outcome: 'failed', sent: 0, rejected: maxRefusals, pending: 600 - maxRefusals })
    expect(report.reason).toContain('broken release')
    expect(shipper.stats()).toMatchObject({ backoffLevel: 1, consecutiveFailures: 1, lastSuccessTime: null })
    expect(await aside()).toHaveLength(maxRefusals)
  })
}

test('further attempts set nothing more aside, nor does a restart, and few events are sent', async () => {
  const { shipper, open, aside, batches } = await setUp(920, refuse)
  await shipper.flush()
  const before = batches().length
  for (let attempt = 0; attempt < 5; attempt++) {
    expect(await shipper.flush()).toMatchObject({ outcome: 'failed', rejected: 0, pending: 900 })
  }
  await shipper.close()
  const again = await open()
  for (let attempt = 0; attempt < 5; attempt++) {
    expect(await again.flush()).toMatchObject({ outcome: 'failed', rejected: 0, pending: 900 })
  }
  expect(again.stats()).toMatchObject({ consecutiveFailures: 11, breaker: 'half-open' })
  expect(await aside()).toHaveLength(20)
  expect((batches().length - before) / 10).toBeLessThanOrEqual(15)
})

test('once the server is repaired all the rest arrives, also behind an event that it never accepts', async () => {
  const { collector, shipper, answerBatches, aside } = await setUp(300, refuse)
  await shipper.flush()
  answerBatches(({ events }, response) => {
    const isPoisoned = events.some(({ data }) => [20, 21].includes(numberOf(data)))
    if (isPoisoned) json(response, 422, {})
    return isPoisoned
  })
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 278, rejected: 2, pending: 0 })
  expect(collector.events.size).toBe(278)
  expect(collector.duplicates).toBe(0)
  expect(await aside()).toHaveLength(22)
})

test.each([402, 409, 410, 421, 423, 426, 451, 499])(
  'a %s is about the account or the address: a failure',
  async (status) => {
    const { shipper } = await setUp(20, (_, response) => {
      json(response, status, {})
      return true
    })
    expect(await shipper.flush()).toMatchObject({ outcome: 'failed', rejected: 0, pending: 20 })
  },
)

test('the delay between batches is kept while a batch is split', async () => {
  const times: number[] = []
  const { shipper } = await setUp(
    8,
    ({ events }, response) => {
      times.push(performance.now())
      const isPoisoned = events.some(({ data }) => numberOf(data) === 3)
      if (isPoisoned) json(response, 400, {})
      return isPoisoned
    },
    { delayBetweenBatches: 60 },
  )
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 7, rejected: 1 })
  expect(times.length).toBeGreaterThan(4)
  for (const [i, time] of times.slice(1).entries()) expect(time - times[i]!).toBeGreaterThanOrEqual(55)
})

test('an event that the server always wants again is set aside after so many retries; the rest arrives once', async () => {
  const { collector, shipper, open, aside, answerBatches } = await setUp(300, () => false)
  await shipper.close()
  const patient = await open({ maxRetries: 2 })
  let sticky = 0
  answerBatches(({ events }, response) => {
    const results = events.map(({ id, data }) => {
      if (numberOf(data) !== 0) collector.events.set(id, { id, data })
      else sticky++
      return { id, status: numberOf(data) === 0 ? 'retry' : 'ok' }
    })
    json(response, 200, { results })
    return true
  })
  expect(await patient.flush()).toMatchObject({ outcome: 'drained', sent: 299, rejected: 1, pending: 0 })
  expect(sticky).toBe(3)
  expect(collector.events.size).toBe(299)
  expect(await aside()).toMatchObject([{ data: { n: 0 }, reason: expect.stringContaining('retry') }])
})
