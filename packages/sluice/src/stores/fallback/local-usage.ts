import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { memoryStore } from '../memory/memory-store.ts'
import type { Store } from '../store.ts'
import { limitsPerReplica } from './local-share.ts'

/** Most subjects that are counted locally, and most whose usage is remembered for the report after an outage. */
const maxSubjects = 50_000
/** How many reports are in flight at once, so that a recovering store is not flooded. */
const reportsAtOnce = 256

/** What a subject was allowed locally and the store does not know of yet. */
interface Unreported {
  readonly charge: Charge
  readonly replicas: number
  units: number
}

/**
 * Decides in process while the store is away, on this replica's share of the limits, and reports what it admitted when
 * the store is back, so that an outage is not a free window. The local counts stay: should the store go away again
 * within the window, the share is not given a second time.
 */
export class LocalUsage {
  readonly #memory: Store
  readonly #clock: Clock
  /** By rule prefix, then by subject. */
  readonly #unreported = new Map<string, Map<string, Unreported>>()
  #size = 0
  #reporting: Promise<void> | undefined
  readonly #ahead = new Set<Promise<boolean>>()
  /** Subjects that the store said are blocked, and until when. */
  readonly #blocked = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#memory = memoryStore({ maxSubjects, clock })
  }

  decide(ask: Ask, charges: readonly Charge[], replicas: number): Answer {
    const shares = charges.map((charge) => limitsPerReplica(charge, replicas))
    if (this.#blocked.size > 0) for (const charge of shares) this.#keepBlocked(charge)
    const answer = this.#memory.decide({ ...ask, charges: shares } as Ask, 0) as Answer
    if (ask.kind === 'take' && answer.granted > 0)
      for (const charge of charges) this.#remember(charge, replicas, charge.cost * answer.granted)
    return answer
  }

  /** Learns from an answer of the store who is blocked: a block outlasts an outage. */
  learn(charges: readonly Charge[], { allowed, statuses }: Answer): void {
    if (allowed && this.#blocked.size === 0) return
    for (const [c, charge] of charges.entries()) {
      const block = charge.rule.onStoreFailure === 'local' && statuses[c]?.find((status) => status.block)
      const name = charge.rule.prefix + charge.subject
      if (block) this.#blocked.set(name, this.#clock.monotonic() + block.retryAfterMs)
      else if (allowed) this.#blocked.delete(name)
    }
    if (this.#blocked.size > maxSubjects) this.#blocked.delete(this.#blocked.keys().next().value!)
  }

  #keepBlocked(charge: Charge): void {
    const name = charge.rule.prefix + charge.subject
    const untilMs = this.#blocked.get(name)
    if (untilMs === undefined) return
    this.#blocked.delete(name)
    const forUs = Math.ceil((untilMs - this.#clock.monotonic()) * 1000)
    if (forUs > 0) this.#memory.decide({ kind: 'block', charges: [charge], forUs }, 0)
  }

  /** Whether nothing is waiting to be reported. */
  get isEmpty(): boolean {
    return this.#size === 0
  }

  /** Settles when the reports in flight have ended. */
  async reported(): Promise<void> {
    await Promise.all([this.#reporting, ...this.#ahead])
  }

  /**
   * Reports what the subjects of an ask were admitted, so that a store which has come back, perhaps empty, knows it
   * when it decides on that ask: stores keep the order of asking.
   */
  reportAhead({ charges }: Ask, store: Store, withinMs: number): void {
    for (const { rule, subject } of charges) {
      const subjects = this.#unreported.get(rule.prefix)
      const entry = subjects?.get(subject)
      if (entry === undefined) continue
      this.#takeOut(rule.prefix, subject)
      const report = this.#reportOne(entry, store, withinMs)
      this.#ahead.add(report)
      void report.finally(() => this.#ahead.delete(report))
    }
  }

  /** Debits the store for what was admitted without it. What fails now is kept for the next time. */
  report(store: Store, withinMs: number): Promise<void> {
    this.#reporting ??= this.#reportAll(store, withinMs).finally(() => {
      this.#reporting = undefined
    })
    return this.#reporting
  }

  async #reportAll(store: Store, withinMs: number): Promise<void> {
    let away = false
    while (this.#size > 0 && !away) {
      const reported = await Promise.all(this.#some().map((entry) => this.#reportOne(entry, store, withinMs)))
      away = reported.includes(false)
    }
  }

  /** Takes some out of what is to be reported: what is admitted meanwhile is a report of its own. */
  #some(): Unreported[] {
    const some: Unreported[] = []
    for (const [prefix, subjects] of this.#unreported) {
      for (const [subject, entry] of subjects) {
        if (some.length === reportsAtOnce) return some
        this.#takeOut(prefix, subject)
        some.push(entry)
      }
    }
    return some
  }

  #takeOut(prefix: string, subject: string): void {
    const subjects = this.#unreported.get(prefix)!
    subjects.delete(subject)
    if (subjects.size === 0) this.#unreported.delete(prefix)
    this.#size -= 1
  }

  /**
   * False when the store is away again. A report whose reply was lost is made again: rather too strict than too lax.
   */
  async #reportOne({ charge, replicas, units }: Unreported, store: Store, withinMs: number): Promise<boolean> {
    const share = limitsPerReplica(charge, replicas)
    const local = this.#memory.decide({ kind: 'peek', charges: [share] }, 0) as Answer
    // What has passed out of a window since is not reported into the next one.
    const spent = share.limits.limits.map((limit, l) => {
      const { remaining, pace, share: of } = local.statuses[0]![l]!
      return Math.min(units, pace?.spent ?? of?.spent ?? limit.burst - remaining)
    })
    if (!spent.some((left) => left > 0)) return true
    try {
      const ask = { kind: 'debit', charges: [charge], units: spent.map((left) => Math.max(0, left)) } as const
      const late = () => new StoreError('timeout', 'no answer before the deadline')
      // A store that never answers would keep the limiter from closing.
      await withinTime(Promise.resolve(store.decide(ask, withinMs)), { ms: withinMs, clock: this.#clock, late })
      return true
    } catch (error) {
      if (error instanceof StoreError && !error.transient) return true
      this.#remember(charge, replicas, units)
      return false
    }
  }

  #remember(charge: Charge, replicas: number, units: number): void {
    let subjects = this.#unreported.get(charge.rule.prefix)
    if (subjects === undefined) {
      subjects = new Map()
      this.#unreported.set(charge.rule.prefix, subjects)
    }
    const known = subjects.get(charge.subject)
    if (known !== undefined) {
      known.units += units
      return
    }
    if (this.#size >= maxSubjects) return
    subjects.set(charge.subject, { charge, replicas, units })
    this.#size += 1
  }
}
