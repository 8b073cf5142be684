import type { Cache } from 'sluice/cache'
import type { Presence } from 'sluice/presence'
import type { Database, Pair } from './database.ts'
import { keys, settleMs } from './keys.ts'

/** In seconds. */
export const windows: readonly number[] = [60, 300, 900, 3600]
export const granularities: readonly number[] = [60, 300, 3600, 86_400]

export interface AggregateParts {
  readonly database: Database
  readonly cache: Cache
  readonly presence: Presence
}

/** Buckets that are open at a time, and those that have just closed: they get their last form. */
function bucketsAt(nowMs: number): { granularity: number; starts: Date[] }[] {
  return granularities.map((granularity) => {
    const lengthMs = granularity * 1000
    const startMs = Math.floor(nowMs / lengthMs) * lengthMs
    const isNew = nowMs - startMs < 2 * settleMs
    const starts = isNew ? [startMs - lengthMs, startMs] : [startMs]
    return { granularity, starts: starts.map((each) => new Date(each)) }
  })
}

/** Thousands of writes at once would only wait for each other, and the last ones for too long. */
async function inTurns(writes: readonly (() => Promise<unknown>)[]): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < writes.length) await writes[next++]!()
  }
  await Promise.all(Array.from({ length: 64 }, work))
}

/** One cycle: computes everything about the pairs that were traded since then, writes it, and tells subscribers. */
export async function aggregate({ database, cache, presence }: AggregateParts, since: Date): Promise<readonly Pair[]> {
  const pairs = await database.pairs(since)
  if (pairs.length === 0) return pairs
  const assetIds = pairs.flatMap(({ base, quote }) => (quote === 'USD' ? [base] : []))
  const [prices, vwaps, divergences, ...candles] = await Promise.all([
    database.prices(assetIds),
    database.vwaps(pairs, windows),
    database.divergences(assetIds),
    ...bucketsAt(Date.now()).map(({ granularity, starts }) => database.candles(pairs, granularity, starts)),
  ])
  await inTurns([
    ...prices.map((each) => () => cache.set(keys.price(each.assetId), each)),
    ...vwaps.map(
      (each) => () => cache.set(keys.vwap(each.base, each.quote, each.window), each, { ttl: `${each.window}s` }),
    ),
    ...divergences.map((each) => () => cache.set(keys.div(each.assetId), each)),
    ...candles
      .flat()
      .map((each) => () => cache.set(keys.ohlc(each.base, each.quote, each.granularity, each.start.getTime()), each)),
    ...prices.map((each) => () => presence.publish(each.assetId, { ...each, stale_flag: false })),
  ])
  return pairs
}

/**
 * Runs cycles until it is stopped: what was traded, with every one, and everything of the last day every 20 s, so that
 * nothing expires and a Redis that was wiped is full again. A cycle that fails is repeated.
 */
export function runAggregator(
  parts: AggregateParts,
  { cycleMs, failed }: { readonly cycleMs: number; failed(error: Error): void },
): { stop(): Promise<void> } {
  let [isStopped, allAtMs, since] = [false, 0, new Date(0)]
  let wake = (): void => undefined
  const cycle = async (): Promise<void> => {
    const nowMs = Date.now()
    const isFull = nowMs - allAtMs >= 20_000
    await aggregate(parts, isFull ? new Date(nowMs - 86_400_000) : since)
    // Trades may arrive a little late.
    since = new Date(nowMs - settleMs)
    if (isFull) allAtMs = nowMs
  }
  const run = async (): Promise<void> => {
    while (!isStopped) {
      const startMs = performance.now()
      await cycle().catch(failed)
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, Math.max(0, cycleMs - (performance.now() - startMs)))
      })
    }
  }
  const running = run()
  return {
    async stop() {
      isStopped = true
      wake()
      await running
    },
  }
}
