import type { Cache, Freshness } from 'sluice/cache'
import type { Asset, Database, Trade } from './database.ts'
import { keys } from './keys.ts'

export interface IndexerParts {
  readonly database: Database
  readonly cache: Cache
  readonly freshness: Freshness
}

/** Stores trades as they come, and reports that the source is alive. */
export async function indexTrades({ database, freshness }: IndexerParts, trades: readonly Trade[]): Promise<void> {
  await database.saveTrades(trades)
  const sources = [...new Set(trades.map(({ source }) => source))]
  await Promise.all(sources.map((source) => freshness.report(source, '60s')))
}

/** Stores metadata. When this has resolved, no process answers the old with `stale_flag: false`. */
export async function indexAsset({ database, cache }: IndexerParts, asset: Asset): Promise<void> {
  await database.saveAsset(asset)
  await cache.invalidate(keys.meta(asset.assetId), { mode: 'strict' })
}

/** Makes up trades, a step at a time. */
export function randomWalk(assetIds: readonly string[], random: () => number = Math.random): () => Trade[] {
  const last = new Map(assetIds.map((base) => [base, 1 + random() * 100]))
  return () =>
    assetIds.map((base) => {
      const price = Math.max(0.01, last.get(base)! * (1 + (random() - 0.5) / 50))
      last.set(base, price)
      const source = random() < 0.5 ? 'kraken' : 'sdex'
      return { base, quote: 'USD', price, amount: 1 + random() * 10, source, at: new Date() }
    })
}
