import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Hono } from 'hono'
import type { Capacity, Ingest } from 'sluice/capacity'
import { readBounded } from 'sluice/internal'
import { tokenCheck } from '../proxy/internal-token.ts'

export interface CollectParts {
  readonly capacity: Capacity
  readonly ingest: Ingest
  /** Where batches are posted; capacity is requested below it. */
  readonly path: string
  /** The bearer token that senders need; undefined for none. */
  readonly token: string | undefined
}

/** The largest batch, also after decompression. */
const maxBatchBytes = 16 * 1024 * 1024
/** The largest capacity request: a name and a number. */
const maxQuestionBytes = 4096
const inflate = promisify(gunzip)

/** The HTTP side of a collector: batches, capacity, health. */
export function collectApp({ capacity, ingest, path, token }: CollectParts): Hono {
  const app = new Hono()
  const isToken = tokenCheck(token === undefined ? [] : [token])
  // Most often a sender that disconnected in the middle of its batch, so it does not read the answer. In any case
  // nothing was stored, and the events are not at fault.
  app.onError((error, c) => c.json({ error: error.message }, 503))
  app.get('/health', (c) => c.json({ ok: true }))
  app.get('/ready', async (c) => {
    const parts = await Promise.all([capacity.health(), ingest.health()])
    const [reasons, warnings] = [parts.flatMap((each) => each.reasons), parts.flatMap((each) => each.warnings)]
    const ready = parts.every((each) => each.ready)
    return c.json({ ready, reasons, warnings, load: capacity.load }, ready ? 200 : 503)
  })
  app.use('*', async (c, next) => {
    const [, bearer] = /^Bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '') ?? []
    if (!isToken(bearer)) return c.json({ error: 'a token is needed' }, 401)
    return next()
  })
  app.get('/stats', (c) => c.json({ capacity: capacity.stats(), ingest: ingest.stats() }))
  app.post(`${path}/capacity`, async (c) => {
    const read = await readBody(c.req.raw, maxQuestionBytes)
    if ('refused' in read) return c.json({ error: read.reason }, read.refused)
    const { shipper } = (read.body ?? {}) as { shipper?: unknown }
    return c.json(capacity.answer(typeof shipper === 'string' && shipper !== '' ? shipper : 'unknown'))
  })
  app.post(path, async (c) => {
    const read = await readBody(c.req.raw, maxBatchBytes)
    if ('refused' in read) return c.json({ error: read.reason }, read.refused)
    const { status, body: answer } = await ingest.receive(read.body)
    return c.json(answer, status as 200)
  })
  return app
}

type Read = { readonly body: unknown } | { readonly refused: 413 | 415; readonly reason: string }

/** The JSON of a body, decompressed; undefined when it is not JSON. */
async function readBody(request: Request, maxBytes: number): Promise<Read> {
  const tooLarge: Read = { refused: 413, reason: `a body has at most ${maxBytes} bytes here` }
  const encoding = (request.headers.get('content-encoding') ?? 'identity').trim().toLowerCase()
  // Not 400: the events are good, and the shipper sends them again uncompressed.
  if (encoding !== 'gzip' && encoding !== 'identity') return { refused: 415, reason: 'send gzip, or nothing encoded' }
  const sent = await readBounded(request.body, maxBytes)
  if (sent === undefined) return tooLarge
  try {
    const bytes = encoding === 'gzip' ? await inflate(sent, { maxOutputLength: maxBytes }) : sent
    return { body: JSON.parse(new TextDecoder().decode(bytes)) }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge : { body: undefined }
  }
}
