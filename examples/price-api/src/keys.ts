import { defineKeys, key } from 'sluice/cache'
import type { Candle, Price } from './database.ts'

/** How an outage of the database appears: for ten minutes as stale prices, then as errors. */
const lastResort = { staleIfError: '10m' } as const

/**
 * Everything that is cached, in one table. Besides it, Redis holds the minute counters of the limiter, the health of
 * data sources (`freshness`) and the live subscribers (`presence`), each in a separate namespace.
 */
export const keys = defineKeys({
  price: key('price', ['assetId'], {
    ttl: '60s',
    ...lastResort,
    tags: (price: Price | null) => (price ? [price.source] : []),
  }),
  vwap: key('vwap', ['assetId', 'window'], { ttl: '60s', staleWhileRevalidate: '60s', ...lastResort }),
  /** A closed candle never changes. */
  ohlc: key('ohlc', ['assetId', 'interval', 'start'], {
    ttl: (candle: Candle | null) => (candle?.closed ? 'forever' : '1h'),
    negativeTtl: '10s',
  }),
  asset: key('asset', ['assetId'], { ttl: '15m', negativeTtl: '30s', ...lastResort }),
  markets: key('markets', ['assetId'], { ttl: '5m', ...lastResort }),
})
