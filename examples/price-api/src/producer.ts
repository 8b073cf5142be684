import type { Price } from './database.ts'
import { keys } from './keys.ts'
import type { Services } from './services.ts'

/** Writes prices as an aggregator does: to the database, to the cache, and to live subscribers. Readers only read. */
export async function produce(
  { database, cache, presence, freshness }: Services,
  prices: readonly Price[],
): Promise<void> {
  await Promise.all(
    prices.map(async (price) => {
      await database.saveTrade(price)
      await cache.set(keys.price(price.assetId), price)
      await presence.publish(price.assetId, JSON.stringify(price))
    }),
  )
  await freshness.report('exchange', '30s')
}

/** Generates prices, a step at a time. */
export function randomWalk(assetIds: readonly string[], random: () => number = Math.random): () => Price[] {
  const last = new Map(assetIds.map((assetId) => [assetId, 1 + random() * 100]))
  return () =>
    assetIds.map((assetId) => {
      const usd = Math.max(0.01, last.get(assetId)! * (1 + (random() - 0.5) / 50))
      last.set(assetId, usd)
      return { assetId, usd, source: 'exchange', at: new Date() }
    })
}
