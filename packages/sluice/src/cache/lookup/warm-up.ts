import { parseDuration } from '../../core/duration.ts'
import { decodeKey } from '../../core/key.ts'
import type { Fetch, WarmOptions, WarmResult } from '../cache.ts'
import { CacheKey } from '../keys/cache-key.ts'
import type { CacheCore } from './cache-core.ts'

const usual = { top: 100, withinMs: 120_000, concurrency: 8 }

/** Looks up the most used keys again, a few at a time and within a time limit. */
export async function warmUp(
  core: CacheCore,
  options: WarmOptions,
  look: (key: CacheKey, fetch: Fetch<unknown>) => Promise<unknown>,
): Promise<WarmResult> {
  const { clock, events } = core
  const defaults = core.options.warmUp ?? usual
  const { top = defaults.top, concurrency = defaults.concurrency } = options
  const withinMs = options.within === undefined ? defaults.withinMs : parseDuration(options.within, 'warm.within')
  const startMs = clock.monotonic()
  const keys = mostUsed(core, top)
  let next = 0
  let warmed = 0
  let failed = 0
  const worker = async (): Promise<void> => {
    while (next < keys.length && clock.monotonic() - startMs < withinMs) {
      const key = keys[next++]!
      const fetcher = core.options.fetchers[key.spec.name]!
      await look(key, (context) => fetcher(key.parts, context)).then(
        () => warmed++,
        () => failed++,
      )
      events.emit('warming', { done: warmed + failed, of: keys.length })
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, keys.length) }, worker))
  const result = { warmed, failed, left: keys.length - warmed - failed }
  events.emit('warmed', { ...result, tookMs: clock.monotonic() - startMs })
  return result
}

function mostUsed(core: CacheCore, top: number): CacheKey[] {
  const used = [...core.memory.entries()].filter(([, entry]) => Object.hasOwn(core.options.fetchers, entry.spec.name))
  used.sort(([, a], [, b]) => b.uses - a.uses)
  return used.slice(0, top).map(([encoded, entry]) => {
    const [, ...parts] = decodeKey(encoded)
    return new CacheKey(entry.spec, parts)
  })
}
