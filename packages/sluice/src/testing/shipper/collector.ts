import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { checkOptionNames } from '../../core/check-options.ts'
import type { Capacity } from '../../shipper/backoff/state.ts'

export interface CollectedEvent {
  readonly id: string
  readonly data: unknown
}

/** One request as the collector saw it. */
export interface CollectorRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly bytes: number
  readonly zipped: boolean
  readonly events: readonly CollectedEvent[]
  readonly body: unknown
}

/** Takes over the answer to a request: returns true if it did, and whether and how it answers is its own affair. */
export type Intercept = (request: CollectorRequest, response: ServerResponse) => boolean | Promise<boolean>

/** A receiving end for tests: capacity, ingest and deduplication by id, in memory. */
export interface Collector {
  readonly url: string
  /** Every event once, in the order of arrival. */
  readonly events: Map<string, CollectedEvent>
  /** How many events arrived again. */
  readonly duplicates: number
  readonly requests: CollectorRequest[]
  capacity: Partial<Capacity>
  intercept: Intercept | undefined
  close(): Promise<void>
}

export interface CollectorOptions {
  /** A free one unless said otherwise. */
  readonly port?: number
  /** Whether requests and the data of events are kept, besides their ids. */
  readonly keepData?: boolean
}

const ample: Partial<Capacity> = { ready: true, maxBatchSize: 1000, delayBetweenBatches: 0 }

/**
 * Starts a collector on a free port, or on the one given.
 *
 * @example
 * const collector = await startCollector()
 * const shipper = await createShipper({ dir: 'buffer', endpoint: collector.url })
 */
export async function startCollector(options: CollectorOptions = {}): Promise<Collector> {
  checkOptionNames('startCollector', options, ['port', 'keepData'])
  const { port = 0, keepData = true } = options
  const events = new Map<string, CollectedEvent>()
  let duplicates = 0
  const requests: CollectorRequest[] = []
  const collector = {
    url: '',
    events,
    requests,
    capacity: ample,
    intercept: undefined as Intercept | undefined,
    get duplicates() {
      return duplicates
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await read(incoming)
    if (keepData) requests.push(request)
    if ((await collector.intercept?.(request, response)) === true) return
    if (request.path.endsWith('/capacity')) return json(response, 200, collector.capacity)
    if (request.body === undefined) return json(response, 400, { error: 'not JSON' })
    const results = request.events.map(({ id, data }) => {
      const isKnown = events.has(id)
      if (isKnown) duplicates++
      else events.set(id, keepData ? { id, data } : { id, data: undefined })
      return { id, status: isKnown ? 'duplicate' : 'ok' }
    })
    json(response, 200, { results })
  }

  const server: Server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/events`
  return collector
}

async function read(incoming: IncomingMessage): Promise<CollectorRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const raw = Buffer.concat(chunks)
  const zipped = incoming.headers['content-encoding'] === 'gzip'
  let body: unknown
  try {
    body = JSON.parse((zipped ? gunzipSync(raw) : raw).toString())
  } catch {
    body = undefined
  }
  const events = (body as { events?: CollectedEvent[] } | undefined)?.events ?? []
  return { path: incoming.url ?? '', headers: incoming.headers, bytes: raw.length, zipped, events, body }
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
