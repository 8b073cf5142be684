import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask } from '../../core/engine/ask.ts'
import { type FailureKind, StoreError } from '../../core/errors.ts'
import type { Store } from '../../stores/store.ts'
import type { SimulatedServer } from './simulated-server.ts'

/** How one way takes: it is drawn anew for every message. */
export type Delay = () => number

/**
 * The connection of one process to the server: messages take time, and keep their order. Like the Redis store, it does
 * nothing after the deadline of a call, and nothing twice.
 */
export class SimulatedLink {
  readonly #server: SimulatedServer
  readonly #clock: Clock
  readonly #delay: Delay
  readonly #pending = new Set<(kind: FailureKind) => void>()
  #connection = 0
  #arrivesMs = 0
  #repliesMs = 0
  /** Nobody listens. */
  isRefused = false
  /** Messages are lost on their way to the server. */
  isDeaf = false
  /** Replies are lost: what was asked has been done. */
  isMute = false

  constructor(server: SimulatedServer, clock: Clock, delay: Delay) {
    this.#server = server
    this.#clock = clock
    this.#delay = delay
  }

  /** Ends the connection: pending calls get no answer. The next call opens another. */
  cut(): void {
    this.#connection += 1
    for (const fail of [...this.#pending]) fail('connection')
  }

  store(): Store {
    return {
      name: 'simulated',
      abilities: {
        keepsDeadlines: true,
        continuity: {
          shardOf: () => 0,
          connection: () => this.#connection,
          intactSinceUs: (_shard, withinMs) => this.#call(() => this.#server.intactSinceUs(), withinMs),
        },
      },
      decide: (ask: Ask, withinMs: number): Promise<Answer> => this.#call(() => this.#server.execute(ask), withinMs),
      health: async () => ({ reachable: true, roundTripMs: 0, warnings: [], details: {} }),
      close: async () => {},
    }
  }

  #call<T>(work: () => T, withinMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (kind: FailureKind): void => {
        this.#pending.delete(fail)
        reject(new StoreError(kind, `simulated: ${kind}`))
      }
      if (this.isRefused || this.#server.isDown) return fail('refused')
      this.#pending.add(fail)
      const connection = this.#connection
      const nowMs = this.#clock.monotonic()
      const endMs = nowMs + withinMs
      this.#clock.setTimeout(() => fail('timeout'), withinMs)
      this.#arrivesMs = Math.max(this.#arrivesMs, nowMs + this.#delay())
      this.#at(this.#arrivesMs, () => {
        const isLost = this.isDeaf || this.#server.isDown || connection !== this.#connection
        if (isLost || this.#clock.monotonic() >= endMs) return
        const done = work()
        const isSilent = this.isMute
        this.#repliesMs = Math.max(this.#repliesMs, this.#clock.monotonic() + this.#delay())
        this.#at(this.#repliesMs, () => {
          if (isSilent || connection !== this.#connection) return
          this.#pending.delete(fail)
          resolve(done)
        })
      })
    })
  }

  #at(atMs: number, work: () => void): void {
    this.#clock.setTimeout(work, Math.max(0.001, atMs - this.#clock.monotonic()))
  }
}
