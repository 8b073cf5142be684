import express, { type Express, type Request, type Response } from 'express'
import { type CacheResult, cacheHeaders } from 'sluice/cache'
import { rateLimit } from 'sluice/express'
import { sendEvents } from 'sluice/presence'
import { type Candle, intervals } from './database.ts'
import { keys } from './keys.ts'
import type { Services } from './services.ts'

const windows: Readonly<Record<string, number>> = { '5m': 300, '1h': 3600, '24h': 86_400 }
const maxCandles = 100

/** The routes. */
export function priceApi({ database, cache, limiter, presence, freshness, registry }: Services): Express {
  const app = express()
  app.disable('x-powered-by')
  app.get('/ready', async (_, response) => {
    const sources = await freshness.read().catch(() => undefined)
    const stale = sources?.filter((source) => source.stale) ?? []
    // Stale data is still served, so it is reported and the service stays ready.
    response.json({ ready: true, redis: cache.stats().redis, stale, unknown: sources === undefined })
  })
  app.get('/metrics', async (_, response) => {
    response.type('text/plain').send(await registry.metrics())
  })

  // Before the parser: a body that cannot be parsed is counted like any other.
  app.use('/v1', rateLimit(limiter))
  app.use(express.json())

  app.get('/v1/price', async (request, response) => {
    const assetId = text(request, 'asset')
    const answer = await cache.lookup(keys.price(assetId), () => database.price(assetId))
    send(request, response, answer, (price) => ({ asset: assetId, usd: price.usd, at: price.at, source: price.source }))
  })

  app.get('/v1/vwap', async (request, response) => {
    const assetId = text(request, 'asset')
    const window = choice(request, 'window', windows, '5m')
    const answer = await cache.lookup(keys.vwap(assetId, window), () => database.vwap(assetId, windows[window]!))
    send(request, response, answer, (vwap) => ({ asset: assetId, window, ...vwap }))
  })

  app.get('/v1/ohlc', async (request, response) => {
    const assetId = text(request, 'asset')
    const interval = choice(request, 'interval', intervals, '1m')
    const stepMs = intervals[interval]! * 1000
    const count = Math.min(maxCandles, Math.max(1, Number(request.query.count ?? 1) || 1))
    const fromMs = Math.floor((Number(request.query.from) || Date.now() - (count - 1) * stepMs) / stepMs) * stepMs
    const starts = Array.from({ length: count }, (_, i) => new Date(fromMs + i * stepMs))
    // Looked up together, so that Redis is called once.
    const answers = await Promise.all(
      starts.map((start) =>
        cache.lookup<Candle | null>(keys.ohlc(assetId, interval, start.getTime()), () =>
          database.candle(assetId, interval, start),
        ),
      ),
    )
    response.json({
      asset: assetId,
      interval,
      candles: answers.flatMap(({ value }) => (value ? [value] : [])),
      stale_flag: answers.some(({ stale }) => stale),
    })
  })

  app.get('/v1/assets/:id', async (request, response) => {
    const assetId = request.params.id
    const answer = await cache.lookup(keys.asset(assetId), () => database.asset(assetId))
    const markets = await cache.getOrFetch(keys.markets(assetId), () => database.markets(assetId))
    send(request, response, answer, (asset) => ({ ...asset, markets }))
  })

  app.put('/v1/assets/:id', async (request, response) => {
    const { name, decimals } = request.body as { name: string; decimals: number }
    await database.saveAsset({ assetId: request.params.id, name: String(name), decimals: Number(decimals) })
    // After the commit. When this has resolved, no process returns the old name as fresh.
    await cache.invalidate([keys.asset(request.params.id), keys.markets(request.params.id)], { mode: 'strict' })
    response.status(204).end()
  })

  app.get('/v1/stream', async (request, response) => {
    const assetId = text(request, 'asset')
    const price = await cache.lookup(keys.price(assetId), () => database.price(assetId))
    const id = request.get('x-api-key') ?? request.ip ?? 'unknown'
    await sendEvents(presence, response, { channel: assetId, id, first: [JSON.stringify(price.value)] })
  })

  app.get('/v1/subscribers', async (request, response) => {
    response.json({ subscribers: await presence.count(text(request, 'asset')) })
  })

  app.use((error: Error & { status?: number; transient?: boolean }, _: Request, response: Response, _next: unknown) => {
    const status = error.status ?? (error.transient ? 503 : 500)
    if (!response.headersSent) response.status(status).json({ error: status < 500 ? error.message : 'try again later' })
  })
  return app
}

/** Answers with the value, `stale_flag`, and headers for the CDN; 404 for nothing, 304 for what the client has. */
function send<T>(
  request: Request,
  response: Response,
  answer: CacheResult<T | null>,
  body: (value: T) => object,
): void {
  const { value, stale } = answer
  if (value === null) {
    response.status(404).json({ error: 'unknown asset' })
    return
  }
  const ifNoneMatch = request.get('if-none-match')
  const { headers, notModified } = cacheHeaders(answer, { ifNoneMatch, maxAge: '10s', staleWhileRevalidate: '30s' })
  response.set(headers)
  if (notModified) response.status(304).end()
  else response.json({ ...body(value), stale_flag: stale })
}

function text(request: Request, name: string): string {
  const value = request.query[name]
  if (typeof value === 'string' && /^[\w:-]{1,64}$/.test(value)) return value
  throw Object.assign(new Error(`${name}: give the id of an asset`), { status: 400 })
}

function choice(request: Request, name: string, among: object, usual: string): string {
  const value = request.query[name] ?? usual
  if (typeof value === 'string' && Object.hasOwn(among, value)) return value
  throw Object.assign(new Error(`${name}: use one of ${Object.keys(among).join(', ')}`), { status: 400 })
}
