import type { Clock } from '../../core/clock.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'
import type { Continuity } from '../store.ts'

/**
 * How old an answer may become before it is asked for again in the background: a wiped server keeps its connections.
 */
const renewMs = 1000

/** Without the ability, a loss cannot be excluded: each process recounts every subject once. */
const unknown: Continuity = { shardOf: () => 0, connection: () => 0, intactSinceUs: () => Infinity }

interface Checked {
  readonly sinceUs: number
  readonly connection: number
  readonly atMs: number
}

/** Remembers since when each part of a store has been intact, and asks again when that may have changed. */
export class ContinuityCheck {
  readonly #store: Continuity
  readonly #clock: Clock
  readonly #checked = new Map<number, Checked>()
  readonly #checks = new SingleFlight<number, number>()

  constructor(store: Continuity | undefined, clock: Clock) {
    this.#store = store ?? unknown
    this.#clock = clock
  }

  /** Since when the store has been intact for a subject, if that is known of the present connection. */
  known(charge: Charge): number | undefined {
    const checked = this.#checked.get(this.#store.shardOf(charge))
    return checked?.connection === this.#store.connection() ? checked.sinceUs : undefined
  }

  /** Asks again in the background what was last asked a while ago. */
  renew(charge: Charge, nowMs: number, withinMs: number): void {
    const shard = this.#store.shardOf(charge)
    const checked = this.#checked.get(shard)
    if (checked === undefined || nowMs - checked.atMs <= renewMs) return
    this.#checks.join(shard, () => this.#check(shard, withinMs)).catch(() => {})
  }

  /** Asks the store, for a caller without an answer of the store yet. All waiters share one answer. */
  ask(charge: Charge, withinMs: number): Promise<number> {
    const shard = this.#store.shardOf(charge)
    return this.#checks.join(shard, () => this.#check(shard, withinMs))
  }

  /**
   * Asks the store after it has answered: a question in flight may have been answered before the store lost its
   * counters, and its reply be read together with that of a decision after it.
   */
  askAgain(charge: Charge, withinMs: number): Promise<number> {
    const shard = this.#store.shardOf(charge)
    return this.#checks.startLater(shard, () => this.#check(shard, withinMs))
  }

  async #check(shard: number, withinMs: number): Promise<number> {
    const connection = this.#store.connection()
    const sinceUs = await this.#store.intactSinceUs(shard, withinMs)
    this.#checked.set(shard, { sinceUs, connection, atMs: this.#clock.monotonic() })
    return sinceUs
  }
}
