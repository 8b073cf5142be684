import { defineKeys, key } from 'sluice/cache'

/** A candle gets trades that arrive this late; then it is closed and never changes again. */
export const settleMs = 5000

export interface Candle {
  readonly base: string
  readonly quote: string
  /** In seconds. */
  readonly granularity: number
  readonly start: Date
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly closed: boolean
}

/** How an outage of the database appears: for ten minutes as stale answers, then as errors. */
const lastResort = { staleIfError: '10m' } as const

/**
 * Everything that is cached, in one table. Besides it, Redis holds the minute counters of the limiter, the health of
 * data sources (`freshness`) and the live subscribers (`presence`), each in a separate namespace.
 */
export const keys = defineKeys({
  price: key('price', ['assetId'], { ttl: '60s', ...lastResort }),
  /** As long as its window, which is given with each write. */
  vwap: key('vwap', ['base', 'quote', 'window'], { ttl: '60s', ...lastResort }),
  ohlc: key('ohlc', ['base', 'quote', 'granularity', 'bucket'], { ttl: candleTtl, negativeTtl: '10s', ...lastResort }),
  toml: key('toml', ['domain'], { ttl: '15m', negativeTtl: '1m', staleIfError: '1d' }),
  meta: key('meta', ['assetId'], { ttl: '5m', negativeTtl: '30s', ...lastResort }),
  div: key('div', ['assetId'], { ttl: '5m', ...lastResort }),
})

/** An open candle is not kept beyond its end, nor for longer than a minute should the aggregator stop. */
function candleTtl(candle: Candle | null): 'forever' | number {
  if (candle?.closed) return 'forever'
  const endMs = candle === null ? 0 : candle.start.getTime() + candle.granularity * 1000 + settleMs
  return Math.max(1, Math.min(60_000, endMs - Date.now()))
}
