import { checkOptionNames } from '../core/check-options.ts'
import { parseDuration } from '../core/duration.ts'
import { decodeKey } from '../core/key.ts'
import type { Cache, FetchContext } from './cache.ts'
import { DefinedKey } from './keys/cache-key.ts'
import type { L1 } from './l1/l1.ts'
import type { CacheMonitor } from './monitor.ts'
import type { ResolvedOptions } from './options.ts'

const usual = { top: 100, withinMs: 120_000, concurrency: 8 }

/** Looks up the most used keys again, a few at a time and within a time limit. */
export async function warmUp(
  given: NonNullable<Parameters<Cache['warm']>[0]>,
  options: ResolvedOptions,
  l1: L1,
  { events }: CacheMonitor,
  look: (key: DefinedKey, fetch: (context: FetchContext) => unknown) => Promise<unknown>,
): ReturnType<Cache['warm']> {
  checkOptionNames('warm', given, ['top', 'within', 'concurrency'])
  const { clock, fetchers } = options
  const defaults = options.warmUp ?? usual
  const { top = defaults.top, concurrency = defaults.concurrency } = given
  const withinMs = given.within === undefined ? defaults.withinMs : parseDuration(given.within, 'warm.within')
  const startMs = clock.monotonic()
  const keys = mostUsed(l1, fetchers, top)
  let next = 0
  let warmed = 0
  let failed = 0
  const worker = async (): Promise<void> => {
    while (next < keys.length && clock.monotonic() - startMs < withinMs) {
      const key = keys[next++]!
      const fetcher = fetchers[key.spec.name]!
      await look(key, (context) => fetcher(key.parts, context)).then(
        () => warmed++,
        () => failed++,
      )
      events.emit('warmProgressed', { done: warmed + failed, of: keys.length })
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, keys.length) }, worker))
  const result = { warmed, failed, left: keys.length - warmed - failed }
  events.emit('warmed', { ...result, tookMs: clock.monotonic() - startMs })
  return result
}

function mostUsed(l1: L1, fetchers: ResolvedOptions['fetchers'], top: number): DefinedKey[] {
  const used = [...l1.entries.entries()].filter(([, entry]) => Object.hasOwn(fetchers, entry.spec.name))
  used.sort(([, a], [, b]) => b.uses - a.uses)
  return used.slice(0, top).map(([encoded, entry]) => {
    const [, ...parts] = decodeKey(encoded)
    return new DefinedKey(entry.spec, parts)
  })
}
