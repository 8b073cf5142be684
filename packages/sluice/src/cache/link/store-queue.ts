import type { Clock } from '../../core/clock.ts'
import type { Redis } from '../../redis/redis.ts'
import { TickBatcher } from '../../redis/runner/tick-batcher.ts'
import { StoreBatch, type StoreItem, type StoreWaiter } from './store-batch.ts'

/** How long values are gathered, and how many at most. */
const gatherMs = 1
const maxGathered = 64

/** Stores values under fill locks. Callers do not wait for that, so the values of a millisecond share a call. */
export class StoreQueue {
  readonly #clock: Clock
  readonly #batches: TickBatcher<StoreItem, StoreWaiter, StoreBatch>
  readonly #gathered: (() => void)[] = []

  constructor(redis: Redis, clock: Clock, channel: string) {
    this.#clock = clock
    const ended = (): void => this.#batches.ended()
    this.#batches = new TickBatcher({
      make: (slot, withinMs) => new StoreBatch(slot, withinMs, clock.monotonic() + withinMs, channel, ended),
      send: (batch) => redis.run(batch, 'values'),
    })
  }

  /** Resolves to when it was stored, by the clock of Redis; 0 when the lock was lost. */
  store(slot: number, withinMs: number, item: StoreItem): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#gathered.length === 0) this.#clock.setTimeout(this.flush, gatherMs)
      const add = (): void => this.#batches.add(slot, withinMs, item, { resolve, reject })
      if (this.#gathered.push(add) >= maxGathered) this.flush()
    })
  }

  drain(): Promise<void> {
    this.flush()
    return this.#batches.drain()
  }

  /** Sends what is gathered. */
  readonly flush = (): void => {
    for (const add of this.#gathered.splice(0)) add()
  }
}
