import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Hono } from 'hono'
import type { Capacity, Ingest } from 'sluice/capacity'
import { tokenCheck } from '../proxy/internal-token.ts'

export interface CollectParts {
  readonly capacity: Capacity
  readonly ingest: Ingest
  /** Where batches are posted; capacity is asked below it. */
  readonly path: string
  /** What senders have to show as a bearer token; undefined for none. */
  readonly token: string | undefined
}

/** The largest body, also after decompression. */
const maxBytes = 16 * 1024 * 1024
const inflate = promisify(gunzip)

/** The HTTP side of a collector: batches, capacity, health. */
export function collectApp({ capacity, ingest, path, token }: CollectParts): Hono {
  const app = new Hono()
  const isToken = tokenCheck(token === undefined ? [] : [`Bearer ${token}`])
  app.get('/health', (c) => c.json({ ok: true }))
  app.get('/ready', (c) => {
    const { ready, load } = capacity.stats()
    return c.json({ ready, load }, ready ? 200 : 503)
  })
  app.use('*', async (c, next) => {
    if (!isToken(c.req.header('authorization'))) return c.json({ error: 'a token is needed' }, 401)
    return next()
  })
  app.get('/stats', (c) => c.json({ capacity: capacity.stats(), ingest: ingest.stats() }))
  app.post(`${path}/capacity`, async (c) => {
    const body = await readBody(c.req.raw)
    const shipper: unknown =
      typeof body === 'object' && body !== null ? (body as { shipper?: unknown }).shipper : undefined
    return c.json(capacity.answer(typeof shipper === 'string' && shipper !== '' ? shipper.slice(0, 200) : 'unknown'))
  })
  app.post(path, async (c) => {
    const body = await readBody(c.req.raw)
    if (body === tooLarge) return c.json({ error: `a batch has at most ${maxBytes} bytes` }, 413)
    const { status, body: answer } = await ingest.receive(body)
    return c.json(answer, status as 200)
  })
  return app
}

const tooLarge = Symbol('too large')

/** The JSON of a body, decompressed; undefined when it is none. */
async function readBody(request: Request): Promise<unknown> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of request.body ?? []) {
    bytes += (piece as Uint8Array).byteLength
    if (bytes > maxBytes) return tooLarge
    pieces.push(piece as Uint8Array)
  }
  try {
    const raw = Buffer.concat(pieces)
    const isZipped = request.headers.get('content-encoding') === 'gzip'
    return JSON.parse(String(isZipped ? await inflate(raw, { maxOutputLength: maxBytes }) : raw))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge : undefined
  }
}
