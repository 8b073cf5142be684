import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Hono } from 'hono'
import type { Capacity, Ingest } from 'sluice/capacity'
import { type PartHealth, readBounded } from 'sluice/internal'
import type { Tokens } from '../config/secrets/tokens.ts'
import { type NodeEnv, requireToken } from '../http/access/access.ts'
import { tooLarge } from '../http/input/read-body.ts'
import { HttpProblem, problemResponse } from '../http/problem.ts'
import type { MetricsPage } from '../metrics/daemon-metrics.ts'
import type { BatchGuard } from './batch-guard.ts'

export interface CollectParts {
  readonly capacity: Capacity
  readonly ingest: Ingest
  /** Where batches are posted; capacity is requested below it. */
  readonly path: string
  /** The token that senders need; undefined for none. */
  readonly tokens: Tokens | undefined
  readonly health: () => Promise<PartHealth>
  /** The rules of a policy, where there is one. */
  readonly guard: BatchGuard | undefined
  readonly metrics: MetricsPage
}

/** The largest batch, also after decompression. */
const maxBatchBytes = 16 * 1024 * 1024
/** The largest capacity request: a name and a number. */
const maxQuestionBytes = 4096
const inflate = promisify(gunzip)

/** The HTTP side of a collector: batches, capacity, health. */
export function collectApp({ capacity, ingest, path, tokens, health, guard, metrics }: CollectParts): Hono<NodeEnv> {
  const app = new Hono<NodeEnv>()
  const requireSender = tokens === undefined ? () => {} : requireToken('collector', () => tokens.current)
  app.notFound((c) => problemResponse(new HttpProblem(404, `There is no ${c.req.method} ${c.req.path}.`)))
  // Most often a sender that disconnected in the middle of its batch, so it does not read the answer. In any case
  // nothing was stored, and the events are not at fault.
  app.onError((error) =>
    problemResponse(error instanceof HttpProblem ? error : new HttpProblem(503, error.message || 'Send it again.')),
  )
  app.use('*', async (c, next) => {
    const counted = metrics.begin()
    await next()
    // Whatever else is asked for must not make names of its own.
    counted(c.res.status === 404 ? 'other' : c.req.path, c.res.status)
  })
  app.get('/metrics', async (c) => c.text(await metrics.text(), 200, { 'content-type': metrics.contentType }))
  app.get('/health', (c) => c.json({ ok: true }))
  app.get('/ready', async (c) => {
    const answer = await health()
    return c.json(answer, answer.ready ? 200 : 503)
  })
  app.use('*', async (c, next) => {
    requireSender(c.env.incoming)
    return next()
  })
  app.get('/stats', (c) => c.json({ capacity: capacity.stats(), ingest: ingest.stats() }))
  app.post(`${path}/capacity`, async (c) => {
    const { shipper } = ((await readBody(c.req.raw, maxQuestionBytes)) ?? {}) as { shipper?: unknown }
    return c.json(capacity.answer(typeof shipper === 'string' && shipper !== '' ? shipper : 'unknown'))
  })
  app.post(path, async (c) => {
    const batch = await readBody(c.req.raw, maxBatchBytes)
    const { refused, finish } = (await guard?.(c.env.incoming, batch)) ?? {}
    if (refused !== undefined) return refused
    const { status, body } = await ingest.receive(batch)
    finish?.(status)
    if ('error' in body) throw new HttpProblem(status, body.error)
    return c.json(body)
  })
  return app
}

/** The JSON of a body, decompressed; undefined when it is not JSON. */
async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const encoding = (request.headers.get('content-encoding') ?? 'identity').trim().toLowerCase()
  // Not 400: the events are good, and the shipper sends them again uncompressed.
  if (encoding !== 'gzip' && encoding !== 'identity') throw new HttpProblem(415, 'Send gzip, or nothing encoded.')
  const sent = await readBounded(request.body, maxBytes)
  if (sent === undefined) throw tooLarge(maxBytes)
  try {
    const bytes = encoding === 'gzip' ? await inflate(sent, { maxOutputLength: maxBytes }) : sent
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes)
    return undefined
  }
}
