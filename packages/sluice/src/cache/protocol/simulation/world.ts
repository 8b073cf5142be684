import { LogModel } from './log-model.ts'
import type { Mutation } from './mutation.ts'
import { Random } from './random.ts'

/** A value with its stamp, as Redis or a process keeps it. */
export interface Copy {
  readonly version: number
  readonly generation: string | undefined
  readonly sequence: number
  /** When Redis stored it; 0 for what is not in Redis. */
  readonly id: number
  readonly madeAtMs: number
}

export const keyNames = ['a/x', 'a/y', 'b/x', 'b/z'] as const
export const scopesOf = (key: string): readonly string[] => [`p:${key.slice(0, 2)}`, `t:${key.slice(2)}`]
export const simulatedProofMs = 100

/** Time, the database and Redis of one simulated schedule. */
export class World {
  readonly random: Random
  readonly mutation: Mutation
  readonly log: LogModel
  /** Whether the log and the values are on different nodes, so that no script reaches both. */
  readonly isCluster: boolean
  nowMs = 0
  /** The newest version of each key in the database. */
  readonly database: Map<string, number> = new Map<string, number>(keyNames.map((key) => [key, 0]))
  readonly values: Map<string, Copy> = new Map<string, Copy>()
  readonly locks: Map<string, number> = new Map<string, number>()
  /** The tokens of producers. */
  readonly setting: Set<number> = new Set<number>()
  #replica: { log: ReturnType<LogModel['snapshot']>; values: Map<string, Copy> } = { log: undefined, values: new Map() }
  #events: { atMs: number; order: number; run: () => void }[] = []
  #order = 0
  #stored = 0

  constructor(seed: number, mutation: Mutation) {
    this.random = new Random(seed)
    this.isCluster = this.random.chance(0.5)
    this.mutation = mutation
    this.log = new LogModel({ ...mutation, maxScopes: 2, maxKeys: 1 })
  }

  /** Stores a copy, as of now. No two are stored at the same time. */
  store(key: string, copy: Copy): number {
    this.#stored = Math.max(this.#stored + 0.001, this.nowMs)
    this.values.set(key, { ...copy, id: this.#stored, madeAtMs: this.nowMs })
    return this.#stored
  }

  after(delayMs: number, run: () => void): void {
    this.#events.push({ atMs: this.nowMs + delayMs, order: this.#order++, run })
  }

  /** A delay of a message: mostly short, sometimes long enough to overtake many others. */
  delay(): number {
    return this.random.chance(0.15) ? this.random.below(150) : this.random.below(8)
  }

  run(untilMs: number): void {
    while (this.#events.length > 0) {
      let next = 0
      for (let i = 1; i < this.#events.length; i++) {
        const [a, b] = [this.#events[i]!, this.#events[next]!]
        if (a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)) next = i
      }
      const [event] = this.#events.splice(next, 1)
      if (event!.atMs > untilMs) return
      this.nowMs = event!.atMs
      event!.run()
    }
  }

  /** Faults of Redis: a wipe, one key evicted, replication that catches up, another node that takes over. */
  strike(): void {
    const what = this.random.pick(['wipe', 'evict', 'evict', 'evictLog', 'replicate', 'replicate', 'failOver'] as const)
    if (what === 'wipe') {
      this.log.wipe()
      this.values.clear()
      // Here too, a set that loses its lock between its steps and does not end is a documented limit.
      for (const [key, token] of this.locks) if (!this.setting.has(token)) this.locks.delete(key)
    } else if (what === 'evictLog') this.log.wipe()
    else if (what === 'evict') {
      const key = this.random.pick(keyNames)
      if (this.random.chance(0.5)) this.values.delete(key)
      // On a cluster, a set whose lock is evicted between its steps and that does not end is a documented limit.
      else if (!this.setting.has(this.locks.get(key)!)) this.locks.delete(key)
    } else if (what === 'replicate') this.#replica = { log: this.log.snapshot(), values: new Map(this.values) }
    else {
      this.log.failOver(this.#replica.log)
      this.values.clear()
      for (const [key, value] of this.#replica.values) this.values.set(key, value)
      this.locks.clear()
    }
  }
}
