import type { Clock } from '../core/clock.ts'
import type { Charge } from '../core/engine/ask.ts'
import { backgroundClock } from '../runtime/background-clock.ts'
import { SingleFlight } from '../runtime/single-flight.ts'
import { sleep } from '../runtime/sleep.ts'
import type { LossMark } from '../stores/store.ts'

/** How long the reservations of one shard are gathered for one question. */
const gatherMs = 100
/** Of how many shards the mark is read at a time; a reservation in others is noted when it is renewed. */
const maxShards = 64

/** What the store's mark was when it had a reservation. */
export interface Noted {
  readonly charge: Charge
  mark: number | undefined
}

/**
 * Tells a reservation that the store has lost from one that was ended by its id elsewhere: neither is open any more.
 * The mark of the store is read after the reservation was taken; if it is another one later, all was lost in between.
 */
export class LossCheck {
  readonly #store: LossMark | undefined
  readonly #withinMs: number
  readonly #clock: Clock
  /** What is to be noted, by shard. */
  readonly #waiting = new Map<number, Noted[]>()
  readonly #reads = new SingleFlight<number, number>()
  #closed = false

  constructor(store: LossMark | undefined, withinMs: number, clock: Clock) {
    this.#store = store
    this.#withinMs = withinMs
    this.#clock = backgroundClock(clock)
  }

  close(): void {
    this.#closed = true
  }

  /** Notes the mark in the background, for a reservation that the store has. */
  note(noted: Noted): void {
    if (this.#store === undefined || this.#closed) return
    const shard = this.#store.shardOf(noted.charge)
    const waiting = this.#waiting.get(shard)
    if (waiting !== undefined) waiting.push(noted)
    else if (this.#waiting.size < maxShards) {
      this.#waiting.set(shard, [noted])
      void this.#noteAll(shard)
    }
  }

  /** Whether the store has lost since what it had then. Rejects with a `StoreError`. */
  async isLost({ charge, mark }: Noted): Promise<boolean> {
    return mark !== undefined && (await this.#read(this.#store!.shardOf(charge))) !== mark
  }

  async #noteAll(shard: number): Promise<void> {
    for (let noted = this.#waiting.get(shard)!; noted.length > 0 && !this.#closed; noted = this.#waiting.get(shard)!) {
      this.#waiting.set(shard, [])
      const mark = await this.#read(shard).catch(() => undefined)
      for (const each of noted) each.mark = mark
      await sleep(gatherMs, this.#clock)
    }
    this.#waiting.delete(shard)
  }

  #read(shard: number): Promise<number> {
    return this.#reads.startLater(shard, async () => this.#store!.read(shard, this.#withinMs))
  }
}
