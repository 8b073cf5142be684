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
  /** Until when it was blocked locally. */
  blockedMs: number
}

/** Until when the store said that a subject is blocked, and whether it is blocked locally for that. */
interface KnownBlock {
  readonly untilMs: number
  isKept: boolean
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
  /** Subjects that the store said are blocked. */
  readonly #blocked = new Map<string, KnownBlock>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#memory = memoryStore({ maxSubjects, clock })
  }

  decide(ask: Ask, charges: readonly Charge[], replicas: number): Answer {
    const shares = charges.map((charge) => limitsPerReplica(charge, replicas))
    if (this.#blocked.size > 0) for (const charge of shares) this.#keepBlocked(charge)
    const answer = this.#memory.decide({ ...ask, charges: shares } as Ask, 0) as Answer
    const isSpent = answer.granted > 0 && (ask.kind === 'take' || ask.kind === 'settle')
    for (const [c, charge] of charges.entries()) {
      if (isSpent) this.#remember({ charge, replicas, units: charge.cost * answer.granted, blockedMs: 0 })
      if (charge.limits.block !== undefined) this.#noteBlock(charge, replicas, shares[c]!)
    }
    return answer
  }

  /** Learns from an answer of the store who is blocked: a block outlasts an outage. */
  learn(charges: readonly Charge[], { allowed, statuses }: Answer): void {
    if (allowed && this.#blocked.size === 0) return
    for (const [c, charge] of charges.entries()) {
      const block = charge.rule.onStoreFailure === 'local' && statuses[c]?.find((status) => status.block)
      const name = charge.rule.prefix + charge.subject
      if (block) this.#know(name, this.#clock.monotonic() + block.retryAfterMs)
      else if (allowed) this.#blocked.delete(name)
    }
  }

  #know(name: string, untilMs: number): void {
    this.#blocked.set(name, { untilMs, isKept: false })
    if (this.#blocked.size > maxSubjects) this.#blocked.delete(this.#blocked.keys().next().value!)
  }

  #keepBlocked(charge: Charge): void {
    const name = charge.rule.prefix + charge.subject
    const known = this.#blocked.get(name)
    if (known === undefined) return
    const forUs = Math.ceil((known.untilMs - this.#clock.monotonic()) * 1000)
    if (forUs <= 0) this.#blocked.delete(name)
    else if (!known.isKept) this.#memory.decide({ kind: 'block', charges: [charge], forUs }, 0)
    known.isKept = true
  }

  /** Notes a block that was made here, for the report. One that the store made may have been ended there meanwhile. */
  #noteBlock(charge: Charge, replicas: number, share: Charge): void {
    if (this.#blocked.has(charge.rule.prefix + charge.subject)) return
    const restMs = blockIn(this.#memory.decide({ kind: 'peek', charges: [share] }, 0) as Answer)
    const blockedMs = this.#clock.monotonic() + restMs
    if (restMs > 0) this.#remember({ charge, replicas, units: 0, blockedMs })
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
  async #reportOne(entry: Unreported, store: Store, withinMs: number): Promise<boolean> {
    const { charge, units } = entry
    const late = () => new StoreError('timeout', 'no answer before the deadline')
    // A store that never answers would keep the limiter from closing.
    const ask = (each: Ask): Promise<Answer> =>
      withinTime(Promise.resolve(store.decide(each, withinMs)), { ms: withinMs, clock: this.#clock, late })
    const spent = this.#spentOf(entry)
    try {
      if (units > 0 && spent.some((left) => left > 0)) await ask({ kind: 'debit', charges: [charge], units: spent })
      entry.units = 0
      await this.#reportBlock(entry, ask)
      return true
    } catch (error) {
      if (error instanceof StoreError && !error.transient) return true
      this.#remember(entry)
      return false
    }
  }

  /** What has passed out of a window since is not reported into the next one. */
  #spentOf({ charge, replicas, units }: Unreported): number[] {
    const share = limitsPerReplica(charge, replicas)
    const local = this.#memory.decide({ kind: 'peek', charges: [share] }, 0) as Answer
    return share.limits.limits.map((limit, l) => {
      const { remaining, pace, share: of } = local.statuses[0]![l]!
      return Math.max(0, Math.min(units, pace?.spent ?? of?.spent ?? limit.burst - remaining))
    })
  }

  /** Blocks the subject in the store too, unless it is blocked there for longer. */
  async #reportBlock({ charge, blockedMs }: Unreported, ask: (ask: Ask) => Promise<Answer>): Promise<void> {
    const restMs = (): number => blockedMs - this.#clock.monotonic()
    if (restMs() <= 0) return
    const present = blockIn(await ask({ kind: 'peek', charges: [charge] }))
    const forUs = Math.ceil(restMs() * 1000)
    if (forUs > present * 1000) await ask({ kind: 'block', charges: [charge], forUs })
    this.#memory.decide({ kind: 'block', charges: [charge], forUs: 0 }, 0)
    this.#know(charge.rule.prefix + charge.subject, blockedMs)
  }

  #remember(entry: Unreported): void {
    const { charge, units, blockedMs } = entry
    let subjects = this.#unreported.get(charge.rule.prefix)
    if (subjects === undefined) {
      subjects = new Map()
      this.#unreported.set(charge.rule.prefix, subjects)
    }
    const known = subjects.get(charge.subject)
    if (known !== undefined) {
      known.units += units
      known.blockedMs = Math.max(known.blockedMs, blockedMs)
      return
    }
    if (this.#size >= maxSubjects) return
    subjects.set(charge.subject, entry)
    this.#size += 1
  }
}

/** How long the subject of the one charge is still blocked; 0 when it is not. */
function blockIn({ statuses }: Answer): number {
  return statuses[0]!.find(({ block }) => block)?.retryAfterMs ?? 0
}
