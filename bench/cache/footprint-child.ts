// Counts the bytes that an entry of one cache costs, its key included, and prints the figure. Needs --expose-gc.
import { LRUCache } from 'lru-cache'
import { createCache, defineKeys, key } from 'sluice/cache'
import { value } from './value.ts'

const [name, entriesText] = process.argv.slice(2)
const entries = Number(entriesText)
const text = JSON.stringify(value)
/** A separate value for every entry, as from a database. */
const row = (): typeof value => JSON.parse(text)

interface Kept {
  add(id: string): unknown
  /** The size that the cache itself reports. */
  counted(): number | undefined
}

async function open(): Promise<Kept> {
  if (name === 'lru-cache') {
    const cache = new LRUCache<string, typeof value>({ max: entries * 2, ttl: 3_600_000 })
    return { add: (id) => cache.set(id, row()), counted: () => undefined }
  }
  const keys = defineKeys({ row: key('row', ['id'], { ttl: '1h' }) })
  const cache = await createCache({ memory: { maxEntries: entries * 2, maxBytes: 2 ** 31 - 1 } })
  return { add: (id) => cache.getOrFetch(keys.row(id), row), counted: () => cache.stats().memory.bytes }
}

function bytesInUse(): number {
  for (let again = 0; again < 3; again++) globalThis.gc!()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const cache = await open()
// Compiled code and other one-time allocations are not counted.
for (let i = 0; i < 1000; i++) await cache.add(`warm-up-${i}`)
const before = bytesInUse()
const countedBefore = cache.counted()
for (let i = 0; i < entries; i++) await cache.add(`row-${i}`)
const measured = (bytesInUse() - before) / entries
const counted = countedBefore === undefined ? undefined : (cache.counted()! - countedBefore) / entries
process.stdout.write(`${JSON.stringify({ measured, counted })}\n`, () => process.exit())
