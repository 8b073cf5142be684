import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask, Charge, PeekAsk, TakeAsk } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import type { FallbackStore } from '../callback-store.ts'
import { type AnswerCallback, type CallbackStore, toPromise } from '../callback-store.ts'
import { Observers } from '../observers.ts'
import type { Store, StoreHealth, StoreObserver } from '../store.ts'
import { AnswerCheck } from './answer-check.ts'
import { ContinuityCheck } from './continuity-check.ts'
import { giveBackAsks } from './give-back.ts'
import { type KnownSubject, KnownSubjects, noteChange } from './known-subjects.ts'
import { closedAnswer, isClosed, PendingRecount, type RecountOwner } from './pending-recount.ts'
import type { Recounts } from './recount.ts'
import { RecountReports } from './recount-reports.ts'
import { Source } from './source.ts'
import { type StoreState, UpToDate } from './up-to-date.ts'
import { type Outcome, WithoutStore } from './without-store.ts'

/** How often a store is asked for one decision, if it is found wanting after each answer. */
const maxAttempts = 3

export interface RecountingOptions {
  readonly recounts: Recounts
  /** Among how many replicas what remains is divided, where the source only counts. */
  readonly replicas: () => number
  readonly clock: Clock
}

/** A source of truth whose last call failed. */
export interface FailingSource {
  readonly rule: string
  readonly error: Error
  readonly agoMs: number
}

export interface RecountingStore extends CallbackStore {
  failingSources(): readonly FailingSource[]
}

/**
 * Asks the source of truth for rules with `onStoreFailure: recount` while the store cannot decide, and brings a store
 * up to date that comes back without having known of everything. `inner` answers for all other rules, and denies such
 * ones when the store fails; `store` is the store behind it.
 */
export function recounting(inner: FallbackStore, store: Store, options: RecountingOptions): RecountingStore {
  return new Recounting(inner, store, options)
}

class Recounting implements RecountingStore, RecountOwner {
  readonly name: string
  readonly #inner: FallbackStore
  readonly #clock: Clock
  readonly #sources: ReadonlyMap<string, Source>
  readonly #subjects = new KnownSubjects()
  readonly #continuity: ContinuityCheck
  readonly #upToDate: UpToDate
  readonly #check: AnswerCheck
  readonly #withoutStore: WithoutStore
  readonly #observers = new Observers()
  readonly #reports: RecountReports

  constructor(inner: FallbackStore, store: Store, { recounts, replicas, clock }: RecountingOptions) {
    this.name = inner.name
    this.#inner = inner
    this.#clock = clock
    this.#sources = new Map(Object.entries(recounts).map(([rule, recount]) => [rule, new Source(recount, clock)]))
    this.#continuity = new ContinuityCheck(store.abilities?.continuity, clock)
    this.#upToDate = new UpToDate({
      store: inner,
      continuity: this.#continuity,
      subjects: this.#subjects,
      clock,
      onRaised: ({ rule }) => this.#observers.recount(rule.name, 'raised'),
    })
    this.#check = new AnswerCheck({
      subjects: this.#subjects,
      continuity: this.#continuity,
      upToDate: this.#upToDate,
      sourceOf: (charge) => this.sourceOf(charge),
      clock,
    })
    this.#reports = new RecountReports(this.#subjects, clock, async (charge, endMs) => {
      const source = this.sourceOf(charge)
      if (source !== undefined) await this.#bring(charge, source, endMs, false)
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

  submit(ask: Ask, withinMs: number, callback: AnswerCallback): Answer | undefined {
    if (!this.#isRecounted(ask)) return this.#inner.submit(ask, withinMs, callback)
    if (ask.kind !== 'take' && ask.kind !== 'peek') return this.#change(ask, withinMs, callback)
    const nowMs = this.#clock.monotonic()
    const endMs = nowMs + withinMs
    // Nearly all asks have one charge, and find its subject only once.
    const ready =
      ask.kind === 'take' && ask.charges.length === 1 ? this.#check.readySubject(ask.charges[0]!) : undefined
    for (const charge of ask.charges) if (this.sourceOf(charge)) this.#continuity.renew(charge, nowMs, withinMs)
    const pending = new PendingRecount(this, ask, endMs, ready, callback)
    if (ready !== undefined || ask.kind === 'peek' || this.#inner.breaker !== 'closed' || this.#check.isReady(ask))
      return this.send(pending, withinMs / 2)
    this.#prepare(ask, endMs, false).then(
      (state) => pending.prepared(state, endMs - withinMs / 2),
      (error) => pending.failed(error),
    )
    return undefined
  }

  /** Asks the store; what it answers is looked at before it is passed on. */
  send(pending: PendingRecount, withinMs: number): Answer | undefined {
    pending.sentAfterRaise = this.#upToDate.raises
    const answer = this.#inner.submit(pending.ask, Math.max(1, Math.floor(withinMs)), pending)
    return answer && pending.check(answer)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#inner.health(withinMs)
  }

  failingSources(): readonly FailingSource[] {
    const nowMs = this.#clock.monotonic()
    return [...this.#sources].flatMap(([rule, { failure }]) =>
      failure === undefined ? [] : [{ rule, error: failure.error, agoMs: nowMs - failure.atMs }],
    )
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

  #isRecounted({ charges }: Ask): boolean {
    for (let c = 0; c < charges.length; c++) if (this.sourceOf(charges[c]!) !== undefined) return true
    return false
  }

  /** Brings all subjects of an ask up to date. Undefined when the store does not answer, `unknown` the source. */
  async #prepare(ask: TakeAsk, endMs: number, answered: boolean): Promise<StoreState | 'unknown' | undefined> {
    let worst: StoreState = 'complete'
    try {
      for (const charge of ask.charges) {
        const source = this.sourceOf(charge)
        const state = source && (await this.#bring(charge, source, endMs, answered))
        if (state !== undefined && state !== 'complete') worst = state
      }
      return worst
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return error.kind === 'source' ? 'unknown' : undefined
    }
  }

  isComplete(ask: TakeAsk, ready: KnownSubject | undefined, answer: Answer): boolean {
    return this.#check.isComplete(ask, ready, answer)
  }

  /**
   * The store has allowed what it may not have known enough for: a server behind the same connection was wiped or
   * replaced, or others have given units back. If it was intact, its answer stands. Else what it took is given back, it
   * is brought up to date, and asked again.
   */
  async again(ask: TakeAsk, first: Answer, sentAfterRaise: number, endMs: number): Promise<Answer> {
    let answer = first
    let raise = sentAfterRaise
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (await this.#check.wasIntact(ask, answer, endMs)) return answer
      await this.#giveBack(ask, answer, endMs, raise)
      const state = await this.#prepare(ask, endMs, true)
      if (state === 'unknown') return closedAnswer(ask, answer.nowUs, 'source')
      if (state === undefined || state === 'incomplete') return this.without(ask, state ? undefined : 'other', endMs)
      raise = this.#upToDate.raises
      answer = await this.#inner.decide(ask, this.leftMs(endMs))
      if (answer.failure !== undefined) return isClosed(this, ask) ? answer : this.without(ask, answer.failure, endMs)
      if (this.isComplete(ask, undefined, answer)) return answer
    }
    await this.#giveBack(ask, answer, endMs, raise)
    return closedAnswer(ask, answer.nowUs, 'other')
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
    const id = (ask.kind === 'take' ? ask.hold?.id : undefined) ?? crypto.randomUUID()
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
      await this.#giveBack({ ...ask, charges: others } as TakeAsk, answered, endMs, Infinity)
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
      this.#observers.recount(charge.rule.name, 'failed', error as Error)
      throw error
    }
  }

  async #bring(charge: Charge, source: Source, endMs: number, answered: boolean): Promise<StoreState> {
    try {
      return await this.#upToDate[answered ? 'bringAgain' : 'bring'](charge, source, endMs)
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'source')
        this.#observers.recount(charge.rule.name, 'failed', error)
      throw error
    }
  }

  /** Passes on what else changes a subject: its usage may become smaller without having been lost. */
  #change(ask: Ask, withinMs: number, callback: AnswerCallback): Answer | undefined {
    const answer = this.#inner.submit(ask, withinMs, {
      answered: (later) => {
        noteChange(ask, this.#subjects, this.#clock.now())
        callback.answered(later)
      },
      failed: (error) => callback.failed(error),
    })
    if (answer !== undefined) noteChange(ask, this.#subjects, this.#clock.now())
    return answer
  }

  /** Units that a raise since they were taken has not left on top are not given back. What fails stays spent. */
  async #giveBack(ask: TakeAsk | PeekAsk, answer: Answer, endMs: number, raise: number): Promise<void> {
    if (ask.kind === 'peek') return
    const isGone = (charge: Charge): boolean => (this.#subjects.get(charge, answer.nowUs)?.raise ?? 0) > raise
    const asks = giveBackAsks(ask, answer.nowUs, isGone)
    await Promise.allSettled(asks.map(async (back) => this.#inner.decide(back, this.leftMs(endMs))))
  }

  leftMs(endMs: number): number {
    return Math.max(1, endMs - this.#clock.monotonic())
  }
}
