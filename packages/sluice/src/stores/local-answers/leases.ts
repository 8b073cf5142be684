import type { Answer, Charge, TakeAsk } from '../../core/engine/ask.ts'
import type { Store, StoreObserver } from '../store.ts'
import { Lease } from './lease.ts'

export interface LeaseOptions {
  /** How much future demand a lease covers. */
  readonly aheadMs: number
  /** Most units drawn at once. */
  readonly maxUnits: number
}

/** How often leases are looked through for those that are idle. */
const sweepMs = 250
/** Most subjects with a lease or under observation for one. */
const maxLeases = 10_000

/**
 * Spends hot subjects of rules with `lease: true` locally. Units are drawn from the store first and spent after, never the other way
 * round, so replicas together never admit more than the limit. What a lease holds is lost only to a crash, and only until the window
 * ends. Before and besides, every ask goes to the store.
 */
export class Leases {
  readonly #store: Store
  readonly #options: LeaseOptions
  readonly #leases = new Map<string, Map<string, Lease>>()
  #count = 0
  #observer: StoreObserver | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store, options: LeaseOptions) {
    this.#store = store
    this.#options = options
  }

  watch(observer: StoreObserver): void {
    this.#observer = observer
  }

  /** Spends what was drawn ahead, where that is enough. */
  spend(ask: TakeAsk, nowMs: number, withinMs: number): Answer | undefined {
    if (!isLeased(ask)) return undefined
    const charge = ask.charges[0]!
    const spent = this.#leaseOf(charge, withinMs)?.spend(charge, nowMs)
    if (spent !== undefined) this.#observer?.local?.('lease', charge.rule.name)
    return spent
  }

  /** Spends, where there is enough, for a charge that has the text it was asked for by in place of its subject. */
  spendByText(charge: Charge, nowMs: number): Answer | undefined {
    if (!charge.rule.lease) return undefined
    const lease = this.#find(charge)
    if (lease === undefined || !lease.covers(charge, nowMs)) return undefined
    this.#observer?.local?.('lease', charge.rule.name)
    return lease.spend(charge, nowMs)
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
    clearInterval(this.#timer)
    const all = [...this.#leases.values()].flatMap((subjects) => [...subjects.values()])
    await Promise.all(all.map((lease) => lease.giveBack()))
    this.#leases.clear()
  }

  #find({ rule, subject }: Charge): Lease | undefined {
    return this.#leases.get(rule.prefix)?.get(subject)
  }

  #leaseOf(charge: Charge, withinMs: number): Lease | undefined {
    const known = this.#find(charge)
    if (known !== undefined) return known
    if (this.#count >= maxLeases) return undefined
    const lease = new Lease(charge, this.#store, withinMs, this.#options, (drawn, returned, stranded) =>
      this.#observer?.lease?.(charge.rule.name, drawn, returned, stranded),
    )
    let subjects = this.#leases.get(charge.rule.prefix)
    if (subjects === undefined) {
      subjects = new Map()
      this.#leases.set(charge.rule.prefix, subjects)
    }
    subjects.set(charge.subject, lease)
    this.#count++
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#sweep(), sweepMs)
      this.#timer.unref()
    }
    return lease
  }

  #sweep(): void {
    const nowMs = performance.now()
    for (const subjects of this.#leases.values()) {
      for (const [subject, lease] of subjects) {
        if (!lease.isIdle(nowMs)) continue
        subjects.delete(subject)
        this.#count--
        lease.giveBack()
      }
    }
    if (this.#count === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }
}

function isLeased({ charges, copies, hold }: TakeAsk): boolean {
  return charges.length === 1 && charges[0]!.rule.lease && copies === 1 && hold === undefined
}
