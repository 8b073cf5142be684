import { createCache, defineKeys, key } from 'sluice/cache'
import type { CaseResult } from '../report/result.ts'
import { value } from './value.ts'

const entries = 20_000

/** What an entry of the first level costs, beside what the cache believes it costs. */
export async function benchFootprint(): Promise<CaseResult> {
  const keys = defineKeys({ row: key('row', ['id'], { ttl: '1h' }) })
  const cache = await createCache({ memory: { maxEntries: entries } })
  const collect = globalThis.gc ?? (() => undefined)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < entries; i++) await cache.getOrFetch(keys.row(`row-${i}`), () => value)
  collect()
  const bytes = (process.memoryUsage().heapUsed - before) / entries
  const counted = cache.stats().memory.bytes / entries
  await cache.close()
  return {
    section: 'cache',
    title: 'bytes per entry in process, value of about 250 bytes',
    table: [
      ['measured', 'counted against maxBytes'],
      [globalThis.gc ? bytes.toFixed(0) : 'run node with --expose-gc', counted.toFixed(0)],
    ],
    figures: { bytes, counted },
    targets: [],
  }
}
