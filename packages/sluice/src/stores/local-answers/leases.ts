import type { Clock, Timer } from '../../core/clock.ts'
import type { Answer, Charge, TakeAsk } from '../../core/engine/ask.ts'
import { findSubject } from '../../core/engine/charge.ts'
import type { Store, StoreObserver } from '../store.ts'
import { Lease, type LeaseOptions } from './lease.ts'

/** How often leases are looked through for those that are idle. */
const sweepMs = 250
/** Most subjects with a lease or under observation for one. */
const maxLeases = 10_000

/**
 * Spends hot subjects of rules with `lease: true` locally. Units are drawn from the store first and spent after, never
 * the other way round, so replicas together never admit more than the limit. What a lease holds is lost only to a
 * crash, and only until the window ends. Before and besides, every ask goes to the store.
 */
export class Leases {
  readonly #store: Pick<Store, 'decide'>
  readonly #clock: Clock
  readonly #observer: Pick<Required<StoreObserver>, 'local' | 'lease'>
  readonly #options: LeaseOptions
  readonly #leases = new Map<string, Map<string, Lease>>()
  #count = 0
  #timer: Timer | undefined

  constructor(
    store: Pick<Store, 'decide'>,
    options: LeaseOptions,
    clock: Clock,
    observer: Pick<Required<StoreObserver>, 'local' | 'lease'>,
  ) {
    this.#store = store
    this.#options = options
    this.#clock = clock
    this.#observer = observer
  }

  /** Spends what was drawn ahead, where that is enough. */
  spend(ask: TakeAsk, nowMs: number, withinMs: number): Answer | undefined {
    if (!isLeased(ask)) return undefined
    const charge = ask.charges[0]!
    const spent = this.#leaseOf(charge, withinMs)?.spend(charge, nowMs)
    if (spent !== undefined) this.#observer.local('lease', charge.rule.name)
    return spent
  }

  /** Learns from the answer to what was asked at `nowMs`. */
  observe(ask: TakeAsk, answer: Answer, nowMs: number): void {
    if (isLeased(ask)) this.#find(ask.charges[0]!)?.observe(answer, nowMs)
  }

  /** What the subjects had is being changed from outside; units drawn before are not to be spent after. */
  drop(charges: readonly Charge[]): void {
    for (const charge of charges) this.#find(charge)?.drop()
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    this.#clock.clearTimeout(this.#timer)
    const all = [...this.#leases.values()].flatMap((subjects) => [...subjects.values()])
    await Promise.all(all.map((lease) => lease.giveBack()))
    this.#leases.clear()
  }

  #find(charge: Charge): Lease | undefined {
    return findSubject(this.#leases.get(charge.rule.prefix), charge)
  }

  #leaseOf(charge: Charge, withinMs: number): Lease | undefined {
    const known = this.#find(charge)
    if (known !== undefined) return known
    if (this.#count >= maxLeases) return undefined
    const lease = new Lease(charge, this.#store, withinMs, this.#options, this.#clock, (drawn, returned, stranded) =>
      this.#observer.lease(charge.rule.name, drawn, returned, stranded),
    )
    let subjects = this.#leases.get(charge.rule.prefix)
    if (subjects === undefined) {
      subjects = new Map()
      this.#leases.set(charge.rule.prefix, subjects)
    }
    subjects.set(charge.subject, lease)
    this.#count++
    this.#timer ??= this.#sweepLater()
    return lease
  }

  #sweepLater(): Timer {
    const timer = this.#clock.setTimeout(() => this.#sweep(), sweepMs)
    timer.unref?.()
    return timer
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonic()
    for (const subjects of this.#leases.values()) {
      for (const [subject, lease] of subjects) {
        if (!lease.isIdle(nowMs)) continue
        subjects.delete(subject)
        this.#count--
        lease.giveBack()
      }
    }
    this.#timer = this.#count === 0 ? undefined : this.#sweepLater()
  }
}

function isLeased({ charges, copies, hold }: TakeAsk): boolean {
  return charges.length === 1 && charges[0]!.rule.lease && copies === 1 && hold === undefined
}
