import type { Clock, Timer } from '../../core/clock.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { maxConcurrency } from '../../core/engine/limit.ts'
import { limitSet } from '../../core/engine/limit-set.ts'
import { encodeKey, keyPrefix } from '../../core/key.ts'
import type { Store } from '../store.ts'

const beatMs = 2000
const ttlUs = 10_000_000
/** As many beats as a silent replica lives on for. */
const beatsRemembered = ttlUs / 1000 / beatMs

/**
 * Counts the replicas of a service by their heartbeats, which are nothing but holds of a concurrency limit in the
 * store. While the store is away the last known number stands. It grows at once and falls late: after an outage, or in
 * a store that came back empty, the others may not have been heard yet, and too small a number would let every replica
 * admit too much.
 */
export class Replicas {
  readonly #store: Pick<Store, 'decide'>
  readonly #charge: Charge
  readonly #id: string
  readonly #clock: Clock
  /** What the last beats counted. */
  #counts: readonly number[] = [1]
  #timer: Timer | undefined

  constructor(store: Pick<Store, 'decide'>, service: string, id: string, clock: Clock) {
    this.#store = store
    this.#id = id
    this.#clock = clock
    const rule = {
      name: '#replicas',
      prefix: keyPrefix(service, '#replicas'),
      onStoreFailure: 'open',
      lease: false,
    } as const
    const limit = { name: 'replicas', algorithm: 'concurrency', amount: maxConcurrency, burst: maxConcurrency } as const
    const unused = { periodMs: 0, intervalUs: 0, aligned: false, calendar: undefined, zone: undefined, pace: undefined }
    this.#charge = { rule, subject: encodeKey('alive'), limits: limitSet([{ ...limit, ...unused }]), cost: 1 }
  }

  get count(): number {
    return Math.max(...this.#counts)
  }

  /** Announces this replica and counts the others; afterwards every two seconds. */
  async start(withinMs: number): Promise<void> {
    if (this.#timer !== undefined) return
    this.#beatLater(withinMs)
    await this.beat(withinMs)
  }

  async close(withinMs: number): Promise<void> {
    if (this.#timer === undefined) return
    this.#clock.clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      await this.#store.decide({ kind: 'settle', charges: [this.#charge], id: this.#id }, withinMs)
    } catch {
      // The hold expires by itself.
    }
  }

  #beatLater(withinMs: number): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#beatLater(withinMs)
      void this.beat(withinMs)
    }, beatMs)
    this.#timer.unref?.()
  }

  /** One heartbeat. */
  async beat(withinMs: number): Promise<void> {
    const charges = [this.#charge] as const
    try {
      const known = await this.#store.decide({ kind: 'extend', charges, id: this.#id, ttlUs }, withinMs)
      if (known.granted === 0) {
        await this.#store.decide(
          { kind: 'take', charges, copies: 1, hold: { id: this.#id, ttlUs, kind: 'acquire' } },
          withinMs,
        )
      }
      const { holds } = await this.#store.decide({ kind: 'peek', charges }, withinMs)
      this.#counts = [...this.#counts, Math.max(1, holds?.[0]?.length ?? 1)].slice(-beatsRemembered)
    } catch {
      // The last known number stands.
    }
  }
}
