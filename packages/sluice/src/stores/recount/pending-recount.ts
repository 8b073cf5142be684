import type { Answer, Ask, Charge, PeekAsk, TakeAsk } from '../../core/engine/ask.ts'
import type { Waiter } from '../callback-store.ts'
import type { KnownSubject } from './known-subjects.ts'
import type { Source } from './source.ts'
import type { StoreState } from './up-to-date.ts'

/** Who asks store and source, and judges what they say. */
export interface RecountOwner {
  nowUs(): number
  leftMs(endMs: number): number
  sourceOf(charge: Charge): Source | undefined
  send(pending: PendingRecount, withinMs: number): Answer | undefined
  isComplete(ask: TakeAsk, ready: KnownSubject | undefined, answer: Answer): boolean
  again(ask: TakeAsk, answer: Answer, endMs: number): Promise<Answer>
  without(ask: TakeAsk | PeekAsk, failure: Answer['failure'], endMs: number): Promise<Answer>
}

/** One take or peek of a recounted rule under way. */
export class PendingRecount implements Waiter {
  readonly #owner: RecountOwner
  readonly ask: TakeAsk | PeekAsk
  readonly #endMs: number
  /** The subject of the only charge, if the store was known to know of everything when it was asked. */
  readonly #ready: KnownSubject | undefined
  readonly #waiter: Waiter

  constructor(
    owner: RecountOwner,
    ask: TakeAsk | PeekAsk,
    endMs: number,
    ready: KnownSubject | undefined,
    waiter: Waiter,
  ) {
    this.#owner = owner
    this.ask = ask
    this.#endMs = endMs
    this.#ready = ready
    this.#waiter = waiter
  }

  answered(answer: Answer): void {
    const checked = this.check(answer)
    if (checked !== undefined) this.#waiter.answered(checked)
  }

  failed(error: unknown): void {
    this.#waiter.failed(error)
  }

  /** The subjects have been looked after; undefined when the store did not answer. */
  prepared(state: StoreState | undefined, storeEndMs: number): void {
    const nowUs = this.#owner.nowUs()
    if (state === 'unknown') this.#waiter.answered(closedAnswer(this.ask, { nowUs }))
    else if (state === 'incomplete')
      this.#finish(this.#owner.without(this.ask, undefined, this.#endMs), closedAnswer(this.ask, { nowUs }))
    else {
      const answer = this.#owner.send(
        this,
        Math.max(this.#owner.leftMs(storeEndMs), this.#owner.leftMs(this.#endMs) / 2),
      )
      if (answer !== undefined) this.#waiter.answered(answer)
    }
  }

  /** The answer where it stands as it is; else the waiter is called later. */
  check(answer: Answer): Answer | undefined {
    const { ask } = this
    if (answer.failure === undefined) {
      if (ask.kind === 'peek' || this.#owner.isComplete(ask, this.#ready, answer)) return answer
      this.#finish(this.#owner.again(ask, answer, this.#endMs), closedAnswer(ask, answer))
      return undefined
    }
    // A rule that is closed, or that has no function, denies whatever the others say.
    if (ask.charges.some((charge) => isClosed(this.#owner, charge)) || copiesOf(ask) !== 1) return answer
    this.#finish(this.#owner.without(ask, answer.failure, this.#endMs), { ...answer, by: 'closed' })
    return undefined
  }

  /** Where the source of truth fails too, the rule is closed. */
  #finish(work: Promise<Answer>, otherwise: Answer): void {
    work.then(
      (answer) => this.#waiter.answered(answer),
      () => this.#waiter.answered(otherwise),
    )
  }
}

function isClosed(owner: RecountOwner, charge: Charge): boolean {
  const { onStoreFailure } = charge.rule
  return onStoreFailure === 'closed' || (onStoreFailure === 'recount' && owner.sourceOf(charge) === undefined)
}

/** What is answered when the source of truth fails too. */
export function closedAnswer(ask: Ask, { nowUs }: Pick<Answer, 'nowUs'>): Answer {
  return { allowed: false, granted: 0, nowUs, statuses: ask.charges.map(() => []), failure: 'other', by: 'closed' }
}

function copiesOf(ask: TakeAsk | PeekAsk): number {
  return ask.kind === 'take' ? ask.copies : 1
}
