import { maxConcurrency } from '../../core/algorithms/limit.ts'
import type { Clock } from '../../core/clock.ts'
import { limitSet } from '../../core/engine/any-limit-set.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { encodeKey, keyPrefix } from '../../core/key.ts'
import { every } from '../../runtime/every.ts'
import { LiveReplicas } from '../../runtime/live-replicas.ts'
import type { Store } from '../store.ts'

const beatMs = 2000
const ttlUs = 10_000_000

/**
 * Counts the replicas of a service by their heartbeats, which are nothing but holds of a concurrency limit in the
 * store. While the store is away the last known number stands.
 */
export class Replicas {
  readonly #store: Pick<Store, 'decide'>
  readonly #charge: Charge
  readonly #id: string
  readonly #clock: Clock
  readonly #counted = new LiveReplicas(ttlUs / 1000)
  #stop: (() => void) | undefined

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
    const none = { calendar: undefined, zone: undefined, pace: undefined, share: undefined }
    const unused = { periodMs: 0, intervalUs: 0, aligned: false, ...none }
    this.#charge = { rule, subject: encodeKey('alive'), limits: limitSet([{ ...limit, ...unused }]), cost: 1 }
  }

  get count(): number {
    return this.#counted.count
  }

  /** Announces this replica and counts the others; afterwards every two seconds. */
  async start(withinMs: number): Promise<void> {
    if (this.#stop !== undefined) return
    this.#stop = every(beatMs, this.#clock, () => void this.beat(withinMs))
    await this.beat(withinMs)
  }

  async close(withinMs: number): Promise<void> {
    if (this.#stop === undefined) return
    this.#stop()
    this.#stop = undefined
    try {
      await this.#store.decide({ kind: 'settle', charges: [this.#charge], id: this.#id }, withinMs)
    } catch {
      // The hold expires by itself.
    }
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
      this.#counted.seen(holds?.[0]?.length ?? 1, this.#clock.monotonic())
    } catch {
      // The last known number stands.
    }
  }
}
