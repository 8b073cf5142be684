import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask } from '../../core/engine/ask.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import type { Store } from '../../stores/store.ts'

/** A server that keeps counters as Redis does, and loses them as Redis does: all of them, or the latest. */
export class SimulatedServer {
  readonly #clock: Clock
  #counters: Store
  /** What was done, so that a server can come back older than it was. */
  #log: Ask[] = []
  #markedUs: number | undefined
  isDown = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#counters = memoryStore({ clock })
    this.#markedUs = clock.now()
  }

  execute(ask: Ask): Answer {
    if (ask.kind !== 'peek') this.#log.push(ask)
    return this.#counters.decide(ask, 0) as Answer
  }

  /** Since when it has kept everything, as continuity.lua says it: from the first question after a loss. */
  intactSinceUs(): number {
    this.#markedUs ??= this.#clock.now()
    return this.#markedUs
  }

  /** Keeps only the first part of what was done: nothing for a server that was wiped. */
  lose(share = 1): void {
    const kept = this.#log.slice(0, Math.floor(this.#log.length * (1 - share)))
    this.#counters = memoryStore({ clock: this.#clock })
    for (const ask of kept) this.#counters.decide(ask, 0)
    this.#log = kept
    this.#markedUs = undefined
  }
}
