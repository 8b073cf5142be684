import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCache, defineKeys, key } from '../../cache/index.ts'
import { createEgress } from '../../egress/index.ts'
import { createShipper } from '../../shipper/index.ts'
import { pipelineSinkConformance } from '../../testing/pipeline-sink-conformance.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { cacheSink, createPipeline, httpSink, shipperSink } from '../index.ts'

const framework = { describe, it, beforeAll, afterAll }
const folder = mkdtempSync(join(tmpdir(), 'sluice-call-sinks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const keys = defineKeys({ row: key('row', ['id'], { ttl: '1h' }) })
type Row = { id: number; name: string }

/** A vendor that keeps rows, in as many requests as it answers with 200. */
async function startVendor(answer: (rows: readonly Row[], asked: number) => number = () => 200) {
  const rows: Row[] = []
  const statuses: number[] = []
  const server: Server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const given = JSON.parse(text) as Row[]
    const status = answer(given, statuses.length)
    statuses.push(status)
    if (status === 200) rows.push(...given)
    response.writeHead(status, status === 429 ? { 'retry-after': '0.05' } : {}).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { rows, statuses, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rows`, close }
}

pipelineSinkConformance(framework, {
  name: 'cacheSink',
  async start() {
    const cache = await createCache()
    const ids = async (): Promise<number[]> => {
      const found = await cache.getMany<Row>(Array.from({ length: 200 }, (_, id) => keys.row(String(id))))
      return found.flatMap((each) => (each === undefined ? [] : [each.value.id]))
    }
    return { sink: cacheSink<Row>(cache, { key: ({ id }) => keys.row(String(id)) }), ids, close: () => cache.close() }
  },
})

pipelineSinkConformance(framework, {
  name: 'httpSink',
  async start() {
    const vendor = await startVendor((rows) => (rows.some(({ name }) => name === 'bad') ? 422 : 200))
    return {
      sink: httpSink<Row>({ url: vendor.url, fetch }),
      ids: async () => vendor.rows.map(({ id }) => id),
      bad: { id: 17, name: 'bad' },
      close: vendor.close,
    }
  },
})

describe('sinks that call others', () => {
  const source = Array.from({ length: 40 }, (_, id) => ({ id, name: 'x' }))
  const execution = { mode: 'batch', batchSize: 10 } as const

  it('are slowed down by a 429 of a vendor behind egress, and write everything once', async () => {
    const vendor = await startVendor((_, asked) => (asked % 2 === 0 ? 429 : 200))
    const origin = new URL(vendor.url).origin
    const upstream = { name: 'vendor', origin, limits: { amount: 1000, per: '1s' } }
    const egress = await createEgress({ policy: { service: 'shop', upstreams: [upstream] } })
    const sink = httpSink<Row>({ url: vendor.url, fetch: (url, init) => egress.fetch(url, init) })
    const pipeline = await createPipeline<Row>({ name: 'slow', source, sink, execution })
    await pipeline.run()
    expect(vendor.rows.map(({ id }) => id)).toEqual(source.map(({ id }) => id))
    expect(vendor.statuses).toContain(429)
    expect(pipeline.stats()).toMatchObject({ written: 40, rejected: 0 })
    await pipeline.close()
    await egress.close()
    await vendor.close()
  })

  it('end the run when the vendor will never take it', async () => {
    const vendor = await startVendor(() => 401)
    const sink = httpSink<Row>({ url: vendor.url, fetch })
    const pipeline = await createPipeline<Row>({ name: 'refused', source, sink, execution })
    await expect(pipeline.run()).rejects.toThrow('answers 401')
    await pipeline.close()
    await vendor.close()
  })

  it('wait for a shipper whose buffer is full, and ship everything', async () => {
    const taken = new Set<number>()
    let isOpen = false
    const send = async (events: readonly { data: unknown }[]): Promise<void> => {
      if (!isOpen) throw new Error('the collector is away')
      for (const { data } of events) taken.add((data as Row).id)
    }
    const options = { dir: join(folder, 'buffer'), flushInterval: 20, maxBytes: 300_000, segmentBytes: 50_000 } as const
    const shipper = await createShipper({ ...options, send: send as never, onFull: 'refuse', backoff: { max: 50 } })
    const many = Array.from({ length: 3000 }, (_, id) => ({ id, name: 'x'.repeat(100) }))
    // Each batch waits for the disk, which may be busy.
    const large = { ...execution, batchSize: 100 } as const
    const pipeline = await createPipeline<Row>({
      ...{ name: 'ship', source: many, sink: shipperSink(shipper) },
      execution: large,
    })
    const running = pipeline.run()
    await waitFor(() => pipeline.stats().partitions[0]?.error?.includes('write'))
    expect(pipeline.stats().written).toBeLessThan(3000)
    isOpen = true
    await running
    await waitFor(() => taken.size === 3000)
    expect(pipeline.stats().written).toBe(3000)
    await pipeline.close()
    await shipper.close()
  })
})
