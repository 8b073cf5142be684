import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Collector, startCollector } from '../../testing/shipper/collector.ts'
import { createShipper } from '../create-shipper.ts'

let collector: Collector
let dir: string

beforeEach(async () => {
  collector = await startCollector()
  dir = await mkdtemp(join(tmpdir(), 'sluice-drain-'))
})
afterEach(async () => {
  await collector.close()
  await rm(dir, { recursive: true, force: true })
})

test('what arrives is what was shipped, byte for byte, although memory is used again from batch to batch', async () => {
  const shipper = await createShipper({ dir, endpoint: collector.url, flushInterval: false, segmentBytes: 3 << 20 })
  const shipped = new Map<string, unknown>()
  const storing = Array.from({ length: 30_000 }, async (_, n) => {
    const data = { n, text: String.fromCharCode(97 + (n % 26)).repeat(n % 700) }
    shipped.set(await shipper.ship(data), data)
  })
  // Longer than what is read at a time.
  const long = { text: 'long'.repeat(200_000) }
  storing.push(shipper.ship(long).then((id) => void shipped.set(id, long)))
  await Promise.all(storing)
  let batches = 0
  collector.intercept = (request, response) => {
    if (request.path.endsWith('/capacity')) return false
    // Refusals split batches, and events to retry are sent from the same memory a second time.
    if (++batches % 7 === 3) {
      response.writeHead(413).end()
      return true
    }
    if (batches % 7 !== 0) return false
    const results = request.events.map(({ id }, i) => ({ id, status: i % 3 === 0 ? 'ok' : 'retry' }))
    for (const [i, event] of request.events.entries()) if (i % 3 === 0) collector.events.set(event.id, event)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }))
    return true
  }
  collector.capacity = { ready: true, maxBatchSize: 3000, delayBetweenBatches: 0 }
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', pending: 0 })
  expect(collector.events.size).toBe(shipped.size)
  const wrong = [...shipped].filter(
    ([id, data]) => JSON.stringify(collector.events.get(id)?.data) !== JSON.stringify(data),
  )
  expect(wrong).toEqual([])
  await shipper.close()
})
