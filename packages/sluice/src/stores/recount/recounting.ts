import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask, Charge, PeekAsk, TakeAsk, TextTake } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { type CallbackStore, toPromise, type Waiter } from '../callback-store.ts'
import type { FallbackStore } from '../fallback/fallback.ts'
import { Observers } from '../observers.ts'
import type { Store, StoreHealth, StoreObserver } from '../store.ts'
import { ContinuityCheck } from './continuity-check.ts'
import { giveBackAsks } from './give-back.ts'
import { isOf, type KnownSubject, KnownSubjects } from './known-subjects.ts'
import { closedAnswer, PendingRecount, type RecountOwner } from './pending-recount.ts'
import type { Recounts } from './recount.ts'
import { RecountReports } from './recount-reports.ts'
import { Source } from './source.ts'
import { type StoreState, UpToDate } from './up-to-date.ts'
import { type Outcome, WithoutStore } from './without-store.ts'

export interface RecountingOptions {
  readonly recounts: Recounts
  /** Among how many replicas what remains is divided, where the source only counts. */
  readonly replicas: () => number
  readonly clock: Clock
}

/**
 * Asks the source of truth for rules with `onStoreFailure: recount` while the store cannot decide, and brings a store
 * up to date that comes back without having known of everything. `inner` answers for all other rules, and denies such
 * ones when the store fails; `store` is the store behind it.
 */
export function recounting(inner: FallbackStore, store: Store, options: RecountingOptions): CallbackStore {
  return new Recounting(inner, store, options)
}

class Recounting implements CallbackStore, RecountOwner {
  readonly name: string
  readonly #inner: FallbackStore
  readonly #clock: Clock
  readonly #sources: ReadonlyMap<string, Source>
  readonly #subjects = new KnownSubjects()
  readonly #continuity: ContinuityCheck
  readonly #upToDate: UpToDate
  readonly #withoutStore: WithoutStore
  readonly #observers = new Observers()
  readonly #reports: RecountReports

  constructor(inner: FallbackStore, store: Store, { recounts, replicas, clock }: RecountingOptions) {
    this.name = inner.name
    this.#inner = inner
    this.#clock = clock
    this.#sources = new Map(Object.entries(recounts).map(([rule, recount]) => [rule, new Source(recount, clock)]))
    this.#continuity = new ContinuityCheck(store.abilities?.continuity, clock)
    this.#upToDate = new UpToDate({ store, continuity: this.#continuity, subjects: this.#subjects, clock })
    this.#reports = new RecountReports(this.#subjects, clock, async (charge, endMs) => {
      const source = this.sourceOf(charge)
      if (source !== undefined) await this.#bring(charge, source, endMs)
    })
    this.#withoutStore = new WithoutStore({ subjects: this.#subjects, replicas, clock })
  }

  watch(observer: StoreObserver): () => void {
    const stops = [this.#observers.add(observer), this.#inner.watch(observer)]
    return () => {
      for (const stop of stops) stop()
    }
  }

  decide(ask: Ask, withinMs: number): Answer | Promise<Answer> {
    return toPromise(this, ask, withinMs)
  }

  submit(ask: Ask, withinMs: number, waiter: Waiter): Answer | undefined {
    if (!this.#isRecounted(ask)) return this.#inner.submit(ask, withinMs, waiter)
    if (ask.kind !== 'take' && ask.kind !== 'peek') {
      this.#forget(ask)
      return this.#inner.submit(ask, withinMs, waiter)
    }
    const nowMs = this.#clock.monotonic()
    const endMs = nowMs + withinMs
    // Nearly all asks have one charge, and find its subject only once.
    const ready = ask.kind === 'take' && ask.charges.length === 1 ? this.#readySubject(ask.charges[0]!) : undefined
    for (const charge of ask.charges) if (this.sourceOf(charge)) this.#continuity.renew(charge, nowMs, withinMs)
    const pending = new PendingRecount(this, ask, endMs, ready, waiter)
    if (ready !== undefined || ask.kind === 'peek' || this.#inner.breaker !== 'closed' || this.#isReady(ask))
      return this.send(pending, withinMs / 2)
    this.#prepare(ask, endMs).then(
      (state) => pending.prepared(state, endMs - withinMs / 2),
      (error) => pending.failed(error),
    )
    return undefined
  }

  /** Asks the store; what it answers is looked at before it is passed on. */
  send(pending: PendingRecount, withinMs: number): Answer | undefined {
    const answer = this.#inner.submit(pending.ask, Math.max(1, Math.floor(withinMs)), pending)
    return answer && pending.check(answer)
  }

  /** A subject that its store knows by its text may still have to be recounted. */
  takeByText(take: TextTake): Answer | undefined {
    return this.#sources.has(take.rule.name) ? undefined : this.#inner.takeByText(take)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#inner.health(withinMs)
  }

  async close(): Promise<void> {
    await this.#reports.close()
    for (const source of this.#sources.values()) source.close()
    await this.#inner.close()
  }

  nowUs(): number {
    return this.#clock.now()
  }

  sourceOf({ rule }: Charge): Source | undefined {
    return rule.onStoreFailure === 'recount' ? this.#sources.get(rule.name) : undefined
  }

  /** Whether the store is known to know of everything, so that it need only be asked. */
  #isReady(ask: TakeAsk): boolean {
    for (const charge of ask.charges) {
      if (this.sourceOf(charge) !== undefined && this.#readySubject(charge) === undefined) return false
    }
    return true
  }

  #readySubject(charge: Charge): KnownSubject | undefined {
    const known = this.#subjects.get(charge, this.#clock.now())
    if (known === undefined || known.unreported > 0) return undefined
    return known.intactSinceUs === this.#continuity.known(charge) ? known : undefined
  }

  #isRecounted({ charges }: Ask): boolean {
    for (let c = 0; c < charges.length; c++) if (this.sourceOf(charges[c]!) !== undefined) return true
    return false
  }

  /** Brings all subjects of an ask up to date. Undefined when the store does not answer. */
  async #prepare(ask: TakeAsk, endMs: number): Promise<StoreState | undefined> {
    let worst: StoreState = 'complete'
    try {
      for (const charge of ask.charges) {
        const source = this.sourceOf(charge)
        const state = source && (await this.#bring(charge, source, endMs))
        if (state !== undefined && state !== 'complete') worst = state
        if (state === 'unknown') return state
      }
      return worst
    } catch (error) {
      if (error instanceof StoreError) return undefined
      throw error
    }
  }

  /** Whether the store knew of everything when it answered. Remembers what it said. */
  isComplete(ask: TakeAsk, ready: KnownSubject | undefined, answer: Answer): boolean {
    // What a store has lost only makes room.
    if (!answer.allowed) return true
    if (ready !== undefined && this.#isCompleteFor(ask, ready, answer)) return true
    if (!this.#isReady(ask)) return false
    for (const charge of ask.charges) {
      const known = this.sourceOf(charge) && this.#subjects.get(charge, answer.nowUs)
      // A count that has gone down was lost, or given back elsewhere.
      if (known !== undefined && usedAfter(ask, charge, answer) - charge.cost < known.used) return false
    }
    this.#remember(ask, answer)
    return true
  }

  #isCompleteFor(ask: TakeAsk, known: KnownSubject, answer: Answer): boolean {
    const charge = ask.charges[0]!
    const { amount, remaining } = answer.statuses[0]![0]!
    const used = amount - remaining
    if (used - charge.cost < known.used || known.unreported > 0 || !isOf(known, charge, answer.nowUs)) return false
    if (known.intactSinceUs !== this.#continuity.known(charge)) return false
    known.used = used
    known.charge = charge
    return true
  }

  #remember(ask: TakeAsk, answer: Answer): void {
    for (const charge of ask.charges) {
      const known = this.sourceOf(charge) && this.#subjects.get(charge, answer.nowUs)
      if (known === undefined) continue
      known.charge = charge
      known.used = usedAfter(ask, charge, answer)
      known.share = undefined
    }
  }

  /**
   * The store has allowed what it may not have known enough for: a server behind the same connection was wiped or
   * replaced, or others have given units back. What it took is given back, it is brought up to date, and asked again.
   */
  async again(ask: TakeAsk, answer: Answer, endMs: number): Promise<Answer> {
    await this.#giveBack(ask, answer, endMs)
    const state = await this.#prepare(ask, endMs)
    if (state === 'unknown') return closedAnswer(ask, answer)
    if (state === undefined || state === 'incomplete') return this.without(ask, state ? undefined : 'other', endMs)
    for (const charge of ask.charges) {
      const known = this.sourceOf(charge) && this.#subjects.get(charge, answer.nowUs)
      if (known !== undefined && state === 'complete') known.used = 0
    }
    const second = await this.#inner.decide(ask, this.leftMs(endMs))
    if (second.failure === undefined && second.allowed) this.#remember(ask, second)
    return second
  }

  /** Decides while the store cannot. */
  async without(ask: TakeAsk | PeekAsk, failure: Answer['failure'], endMs: number): Promise<Answer> {
    const others = ask.charges.filter((charge) => this.sourceOf(charge) === undefined)
    const answered =
      others.length === 0
        ? undefined
        : await this.#inner.decide({ ...ask, charges: others }, Math.max(1, Math.floor(this.leftMs(endMs) / 2)))
    const outcomes = new Map<Charge, Outcome>()
    let allowed = answered?.allowed ?? true
    const id = (ask.kind === 'take' ? ask.hold?.id : undefined) ?? randomUUID()
    for (const charge of ask.charges) {
      const source = this.sourceOf(charge)
      if (source === undefined || !allowed) continue
      const outcome = await this.#askSource(ask, charge, source, id, endMs)
      outcomes.set(charge, outcome)
      allowed = outcome.allowed
    }
    if (!allowed)
      for (const [charge, outcome] of outcomes) if (outcome.allowed) this.#withoutStore.giveBack(charge, outcome)
    if (!allowed && answered?.allowed && answered.failure === undefined)
      await this.#giveBack({ ...ask, charges: others } as TakeAsk, answered, endMs)
    this.#reports.later()
    return {
      allowed,
      granted: allowed ? 1 : 0,
      nowUs: this.#clock.now(),
      statuses: ask.charges.map(
        (charge) => outcomes.get(charge)?.statuses ?? answered?.statuses[others.indexOf(charge)] ?? [],
      ),
      ...(failure === undefined ? {} : { failure }),
      by: answered?.allowed === false ? (answered.by ?? 'store') : 'recount',
    }
  }

  async #askSource(
    ask: TakeAsk | PeekAsk,
    charge: Charge,
    source: Source,
    id: string,
    endMs: number,
  ): Promise<Outcome> {
    try {
      const outcome = await this.#withoutStore.decide(ask, charge, source, id, endMs)
      if (ask.kind === 'take') this.#observers.recount(charge.rule.name, outcome.allowed ? 'allowed' : 'denied')
      return outcome
    } catch (error) {
      this.#observers.recount(charge.rule.name, 'failed')
      throw error
    }
  }

  async #bring(charge: Charge, source: Source, endMs: number): Promise<StoreState> {
    const state = await this.#upToDate.bring(charge, source, endMs)
    if (state === 'unknown') this.#observers.recount(charge.rule.name, 'failed')
    if (state === 'corrected') this.#observers.recount(charge.rule.name, 'raised')
    return state
  }

  /** What else changes a subject: its usage may become smaller without having been lost. */
  #forget(ask: Ask): void {
    for (const charge of ask.charges) {
      const known = this.#subjects.get(charge, this.#clock.now())
      if (known === undefined) continue
      if (ask.kind === 'refund') known.used = Math.max(0, known.used - charge.cost)
      // How much of a hold comes back is not known here.
      if (ask.kind === 'settle') known.used = 0
      if (ask.kind === 'reset') {
        known.used = 0
        known.unreported = 0
        known.share = undefined
      }
    }
  }

  async #giveBack(ask: TakeAsk | PeekAsk, answer: Answer, endMs: number): Promise<void> {
    if (ask.kind === 'peek') return
    await Promise.all(giveBackAsks(ask, answer.nowUs).map((back) => this.#inner.decide(back, this.leftMs(endMs))))
  }

  leftMs(endMs: number): number {
    return Math.max(1, endMs - this.#clock.monotonic())
  }
}

function usedAfter(ask: TakeAsk, charge: Charge, answer: Answer): number {
  const { amount, remaining } = answer.statuses[ask.charges.indexOf(charge)]![0]!
  return amount - remaining
}
