import type { Answer, Ask, Charge } from '../core/ask.ts'
import { Lease } from './lease.ts'
import type { Store, StoreHealth, StoreObserver } from './store.ts'

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
export function leases(store: Store, options: LeaseOptions): Store {
  return new LeasedStore(store, options)
}

class LeasedStore implements Store {
  readonly name: string
  readonly #store: Store
  readonly #options: LeaseOptions
  readonly #leases = new Map<string, Map<string, Lease>>()
  #count = 0
  #observer: StoreObserver | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store, options: LeaseOptions) {
    this.name = store.name
    this.#store = store
    this.#options = options
  }

  watch(observer: StoreObserver): void {
    this.#observer = observer
    this.#store.watch?.(observer)
  }

  decide(ask: Ask, withinMs: number): Answer | Promise<Answer> {
    const charge = ask.charges[0]
    if (charge === undefined || !charge.rule.lease) return this.#store.decide(ask, withinMs)
    if (ask.kind !== 'take') {
      // What the subject had is being changed from outside; units drawn before are not to be spent after.
      if (ask.kind === 'reset') for (const { rule, subject } of ask.charges) this.#find(rule.prefix, subject)?.drop()
      return this.#store.decide(ask, withinMs)
    }
    if (ask.charges.length !== 1 || ask.hold !== undefined || ask.copies !== 1) return this.#store.decide(ask, withinMs)
    return this.#decideLeased(ask, charge, withinMs)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#store.health(withinMs)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    const all = [...this.#leases.values()].flatMap((subjects) => [...subjects.values()])
    await Promise.all(all.map((lease) => lease.giveBack()))
    this.#leases.clear()
    await this.#store.close()
  }

  #decideLeased(ask: Ask, charge: Charge, withinMs: number): Answer | Promise<Answer> {
    const nowMs = performance.now()
    const lease = this.#leaseOf(charge, withinMs)
    if (lease === undefined) return this.#store.decide(ask, withinMs)
    const spent = lease.spend(charge, nowMs)
    if (spent !== undefined) {
      this.#observer?.local?.('lease', charge.rule.name)
      return spent
    }
    const answer = this.#store.decide(ask, withinMs)
    if (answer instanceof Promise) {
      return answer.then((settled) => {
        lease.observe(settled, nowMs)
        return settled
      })
    }
    return answer
  }

  #find(prefix: string, subject: string): Lease | undefined {
    return this.#leases.get(prefix)?.get(subject)
  }

  #leaseOf(charge: Charge, withinMs: number): Lease | undefined {
    const known = this.#find(charge.rule.prefix, charge.subject)
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
