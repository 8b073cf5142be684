import { answerErrors } from 'example-service'
import express, { type Express, type Request } from 'express'
import type { CacheResult } from 'sluice/cache'
import { rateLimit } from 'sluice/express'
import { identity } from 'sluice/http'
import { sendEvents } from 'sluice/presence'
import { granularities, windows } from './aggregate.ts'
import { type Candle, keys, settleMs } from './keys.ts'
import { assetIdOf, choice, wholeNumber } from './query.ts'
import { send, sendCandles } from './send.ts'
import type { Services } from './services.ts'

const maxCandles = 100
/** The year 9999: a candle still has an end there. */
const latestMs = 253_402_300_799_999

export interface AppOptions {
  /** Keys that the service has given out. */
  readonly apiKeys?: ReadonlySet<string>
  /** The CDN and proxies that say who the client is, as CIDR blocks. */
  readonly trustedProxies?: readonly string[]
}

/** The routes. */
export function priceApi(services: Services, { apiKeys = new Set(), trustedProxies = [] }: AppOptions = {}): Express {
  const { database, prices, limiter, presence } = services
  const app = express()
  const addressOf = identity({ trustedProxies })
  app.disable('x-powered-by')
  // The keys of the limiter and the ids of subscribers; what a key holder sends costs no anonymous client anything.
  const apiKeyOf = (request: Request): string | undefined => {
    const given = request.get('x-api-key')
    return given !== undefined && apiKeys.has(given) ? given : undefined
  }
  const context = (request: Request) => {
    const apiKey = apiKeyOf(request)
    return apiKey === undefined ? { tier: 'anonymous' } : { apiKey, tier: 'key' }
  }
  app.use(rateLimit(limiter, { identity: { trustedProxies }, context }))

  app.get('/v1/price', async (request, response) => {
    const assetId = assetIdOf(request.query.asset, 'asset')
    const answer = await prices.read(keys.price(assetId), async () => (await database.prices([assetId]))[0] ?? null)
    send(request, response, answer)
  })

  app.get('/v1/vwap', async (request, response) => {
    const [base, quote] = [assetIdOf(request.query.base, 'base'), assetIdOf(request.query.quote ?? 'USD', 'quote')]
    const window = choice(request, 'window', windows)
    const answer = await prices.read(
      keys.vwap(base, quote, window),
      async () => (await database.vwaps([{ base, quote }], [window]))[0] ?? null,
    )
    send(request, response, answer)
  })

  app.get('/v1/ohlc', async (request, response) => {
    const [base, quote] = [assetIdOf(request.query.base, 'base'), assetIdOf(request.query.quote ?? 'USD', 'quote')]
    const granularity = choice(request, 'granularity', granularities)
    const count = wholeNumber(request, 'count', 1, maxCandles) ?? 1
    const lengthMs = granularity * 1000
    const from = wholeNumber(request, 'from', 0, latestMs)
    const firstMs = Math.floor((from ?? Date.now() - (count - 1) * lengthMs) / lengthMs) * lengthMs
    const starts = Array.from({ length: count }, (_, i) => new Date(firstMs + i * lengthMs))
    const pair = [{ base, quote }]
    const nowMs = Date.now()
    let settled: Promise<Candle[]> | undefined
    // One query for all that are missing. What is open may change with every trade, so it is read by itself.
    const fetch = async (start: Date): Promise<Candle | null> => {
      const ageMs = nowMs - start.getTime()
      const isOpen = ageMs >= 0 && ageMs < lengthMs + settleMs
      if (!isOpen) settled ??= database.candles(pair, granularity, starts)
      const found = await (isOpen ? database.candles(pair, granularity, [start]) : settled!)
      return found.find((candle) => candle.start.getTime() === start.getTime()) ?? null
    }
    // Looked up together, so that Redis is called once.
    const answers: CacheResult<Candle | null>[] = await Promise.all(
      starts.map((start) => prices.read(keys.ohlc(base, quote, granularity, start.getTime()), () => fetch(start))),
    )
    sendCandles(response, answers, { isPinnable: from !== undefined })
  })

  app.get('/v1/assets/:id', async (request, response) => {
    const assetId = assetIdOf(request.params.id, 'id')
    const answer = await prices.read(keys.meta(assetId), () => database.asset(assetId))
    const domain = answer.value?.homeDomain ?? null
    // An issuer whose domain does not answer is left out; its price is none the worse.
    const toml =
      domain === null
        ? undefined
        : await prices.read(keys.toml(domain), () => services.fetchToml(domain)).catch(() => undefined)
    send(request, response, answer, { issuedBy: toml?.value ?? null })
  })

  app.get('/v1/divergence', async (request, response) => {
    const assetId = assetIdOf(request.query.asset, 'asset')
    const fetch = async () => (await database.divergences([assetId]))[0] ?? null
    send(request, response, await prices.read(keys.div(assetId), fetch))
  })

  app.get('/v1/stream', async (request, response) => {
    const assetId = assetIdOf(request.query.asset, 'asset')
    const price = await prices.read(keys.price(assetId), async () => (await database.prices([assetId]))[0] ?? null)
    const id = apiKeyOf(request) ?? addressOf(request.socket.remoteAddress, request.headers) ?? 'unknown'
    const first = price.value && { ...price.value, stale_flag: price.stale }
    await sendEvents(presence, response, { channel: assetId, id, first: [first] })
  })

  app.get('/v1/subscribers', async (request, response) => {
    response.json({ subscribers: await presence.count(assetIdOf(request.query.asset, 'asset')) })
  })

  app.use(answerErrors)
  return app
}
