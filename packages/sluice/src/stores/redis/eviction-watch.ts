import type { Clock } from '../../core/clock.ts'
import type { NodeFacts, Redis } from '../../redis/redis.ts'
import { every } from '../../runtime/every.ts'

const lookMs = 10_000
const withinMs = 2000
/** So many keys with different hash tags reach every node of a cluster of some dozens. */
const sampledTags = 256

/** What watching needs of a Redis. */
export type WatchedRedis = Pick<Redis, 'isCluster' | 'nodeOf' | 'nodeFacts'>

/**
 * Looks every ten seconds whether Redis has evicted keys, and reports how many since the last look. Whoever runs Redis
 * with an eviction policy loses counters that way, and would not notice otherwise: a subject that was forgotten has its
 * whole limit again.
 */
export class EvictionWatch {
  readonly #redis: () => WatchedRedis
  readonly #clock: Clock
  readonly #report: (keys: number) => void
  /** By the run id of each server: what it had evicted at the last look. */
  #seen: ReadonlyMap<string, number> = new Map()
  #stop: (() => void) | undefined

  constructor(redis: () => WatchedRedis, clock: Clock, report: (keys: number) => void) {
    this.#redis = redis
    this.#clock = clock
    this.#report = report
  }

  start(): void {
    if (this.#stop !== undefined) return
    const look = (): void => void this.look().catch(ignore)
    this.#stop = every(lookMs, this.#clock, look)
    look()
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
  }

  /** One look. The first one at a server only notes where it stands. */
  async look(): Promise<void> {
    const redis = this.#redis()
    const facts = await Promise.all(
      keysOfNodes(redis).map((key) => redis.nodeFacts(key, withinMs).catch(() => undefined)),
    )
    const known = facts.filter((each): each is NodeFacts => each !== undefined)
    // A server that could not be asked this time keeps its count.
    const seen = new Map(this.#seen)
    let keys = 0
    for (const { runId, evictedKeys } of known) {
      keys += evictedKeys - (seen.get(runId) ?? evictedKeys)
      seen.set(runId, evictedKeys)
    }
    this.#seen = seen
    if (keys > 0) this.#report(keys)
  }
}

/** Without a connection there is nothing to look at. */
function ignore(): void {}

/** A key for each node. Nothing is read from it: it only leads to the node. */
function keysOfNodes(redis: WatchedRedis): string[] {
  if (!redis.isCluster) return ['sluice']
  const keys = new Map<string, string>()
  for (let tag = 0; tag < sampledTags; tag++) keys.set(redis.nodeOf(`{${tag}}`), `{${tag}}`)
  return [...keys.values()]
}
