import type { Cache } from '../cache.ts'
import { tag } from '../keys/cache-key.ts'
import { defineKeys, key } from '../keys/define-keys.ts'

const ids = Array.from({ length: 12 }, (_, i) => `k${i}`)
const keys = defineKeys({
  probed: key('probed', ['group', 'id'], { ttl: '2s', staleWhileRevalidate: '5s', tags: (row: Row) => [`t${row.id}`] }),
})

interface Row {
  readonly id: string
  readonly version: number
}

export interface ProberOptions {
  readonly caches: readonly Cache[]
  /** How long it probes at least, and until `isEnough`. */
  readonly forMs: number
  /** Called with what was seen so far; true when that shows what is to be shown. */
  readonly isEnough?: (result: ProberResult) => boolean
  /** A fault that is injected repeatedly. */
  readonly trouble: () => Promise<unknown>
  readonly everyMs: number
  /** `fast` acknowledges too early, on purpose: the prober must notice. */
  readonly mode?: 'strict' | 'fast'
}

export interface ProberResult {
  readonly fresh: number
  readonly stale: number
  readonly errors: number
  readonly acknowledged: number
  readonly refused: number
  /** Answers marked fresh that were older than what had been acknowledged. */
  readonly violations: readonly string[]
}

/** How much longer it goes on than it should while it has not seen enough. */
const longestMs = 20_000

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const groupOf = (id: string): string => `g${Number(id.slice(1)) % 3}`

/**
 * Writes versions to a database, invalidates strictly, and compares what is read in all processes with what was
 * acknowledged. Fetches are slow, and read the database at some moment in between.
 */
export async function probe(options: ProberOptions): Promise<ProberResult> {
  const { caches, forMs, trouble, everyMs, mode = 'strict', isEnough = () => true } = options
  const database = new Map(ids.map((id) => [id, 0]))
  const acknowledged = new Map<string, number>()
  const count = { fresh: 0, stale: 0, errors: 0, acknowledged: 0, refused: 0 }
  const violations: string[] = []
  const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!
  const endMs = performance.now() + forMs
  const isOver = (): boolean =>
    performance.now() >= endMs + longestMs || (performance.now() >= endMs && isEnough({ ...count, violations }))

  const read = async (): Promise<void> => {
    while (!isOver()) {
      const id = pick(ids)
      const fetch = async (): Promise<Row> => {
        await sleep(Math.random() * 10)
        const version = database.get(id)!
        await sleep(Math.random() * 30)
        return { id, version }
      }
      try {
        const { value, stale, from, ageMs } = await pick(caches).lookup(keys.probed(groupOf(id), id), fetch)
        count[stale ? 'stale' : 'fresh'] += 1
        const promised = acknowledged.get(id) ?? 0
        if (!stale && value.version < promised)
          violations.push(
            `${id}: version ${value.version} from ${from}, ${Math.round(ageMs)} ms old, after ${promised}`,
          )
      } catch {
        count.errors += 1
      }
      await sleep(Math.random() * 3)
    }
  }

  const write = async (): Promise<void> => {
    while (!isOver()) {
      const id = pick(ids)
      const version = database.get(id)! + 1
      database.set(id, version)
      const target = pick([keys.probed(groupOf(id), id), keys.probed.prefix(groupOf(id)), tag(`t${id}`)])
      try {
        const { sent } = await pick(caches).invalidate(target, { mode })
        if (sent) {
          acknowledged.set(id, Math.max(version, acknowledged.get(id) ?? 0))
          count.acknowledged += 1
        }
      } catch {
        count.refused += 1
      }
    }
  }

  const disturb = async (): Promise<void> => {
    while (!isOver()) {
      await sleep(everyMs * (0.5 + Math.random()))
      await trouble().catch(() => undefined)
    }
  }

  const repeated = (times: number, work: () => Promise<void>): Promise<void>[] => Array.from({ length: times }, work)
  await Promise.all([...repeated(24, read), ...repeated(6, write), disturb()])
  return { ...count, violations }
}
