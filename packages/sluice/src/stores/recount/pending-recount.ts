import type { Answer, Ask, Charge, PeekAsk, TakeAsk } from '../../core/engine/ask.ts'
import { type FailureKind, StoreError } from '../../core/errors.ts'
import type { AnswerCallback } from '../callback-store.ts'
import type { KnownSubject } from './known-subjects.ts'
import type { Source } from './source.ts'
import type { StoreState } from './up-to-date.ts'

/** What a pending recount needs: how to ask the store and the source, and how to judge their answers. */
export interface RecountOwner {
  nowUs(): number
  leftMs(endMs: number): number
  sourceOf(charge: Charge): Source | undefined
  send(pending: PendingRecount, withinMs: number): Answer | undefined
  isComplete(ask: TakeAsk, ready: KnownSubject | undefined, answer: Answer): boolean
  again(ask: TakeAsk, answer: Answer, sentAfterRaise: number, endMs: number): Promise<Answer>
  without(ask: TakeAsk | PeekAsk, failure: Answer['failure'], endMs: number): Promise<Answer>
}

/** One take or peek of a recounted rule in flight. */
export class PendingRecount implements AnswerCallback {
  readonly #owner: RecountOwner
  readonly ask: TakeAsk | PeekAsk
  readonly #endMs: number
  /** The subject of the only charge, if the store was known to know of everything when it was asked. */
  readonly #ready: KnownSubject | undefined
  readonly #callback: AnswerCallback
  /** The number of the last raise of any subject when it was sent to the store. */
  sentAfterRaise = 0

  constructor(
    owner: RecountOwner,
    ask: TakeAsk | PeekAsk,
    endMs: number,
    ready: KnownSubject | undefined,
    callback: AnswerCallback,
  ) {
    this.#owner = owner
    this.ask = ask
    this.#endMs = endMs
    this.#ready = ready
    this.#callback = callback
  }

  answered(answer: Answer): void {
    const checked = this.check(answer)
    if (checked !== undefined) this.#callback.answered(checked)
  }

  failed(error: unknown): void {
    this.#callback.failed(error)
  }

  /** The subjects have been looked after; undefined when the store did not answer. */
  prepared(state: StoreState | 'unknown' | undefined, storeEndMs: number): void {
    const nowUs = this.#owner.nowUs()
    if (state === 'unknown') this.#callback.answered(closedAnswer(this.ask, nowUs, 'source'))
    else if (state === 'incomplete') this.#finish(this.#owner.without(this.ask, undefined, this.#endMs), nowUs)
    else {
      const answer = this.#owner.send(
        this,
        Math.max(this.#owner.leftMs(storeEndMs), this.#owner.leftMs(this.#endMs) / 2),
      )
      if (answer !== undefined) this.#callback.answered(answer)
    }
  }

  /** The answer where it stands as it is; else the callback is called later. */
  check(answer: Answer): Answer | undefined {
    const { ask } = this
    if (answer.failure === undefined) {
      if (ask.kind === 'peek' || this.#owner.isComplete(ask, this.#ready, answer)) return answer
      this.#finish(this.#owner.again(ask, answer, this.sentAfterRaise, this.#endMs), answer.nowUs)
      return undefined
    }
    // The source of truth is not for a process that has too much to do.
    if (answer.failure === 'overload' || isClosed(this.#owner, ask) || copiesOf(ask) !== 1) return answer
    this.#finish(this.#owner.without(ask, answer.failure, this.#endMs), answer.nowUs)
    return undefined
  }

  /** Where the source of truth fails too, the rule is closed. */
  #finish(work: Promise<Answer>, nowUs: number): void {
    work.then(
      (answer) => this.#callback.answered(answer),
      (error) => this.#callback.answered(closedAnswer(this.ask, nowUs, kindOf(error))),
    )
  }
}

/** Whether a rule of an ask is closed, or has no function: it denies whatever the others say. */
export function isClosed(owner: Pick<RecountOwner, 'sourceOf'>, { charges }: Ask): boolean {
  return charges.some((charge) => {
    const { onStoreFailure } = charge.rule
    return onStoreFailure === 'closed' || (onStoreFailure === 'recount' && owner.sourceOf(charge) === undefined)
  })
}

/** What is answered when neither store nor source can decide. */
export function closedAnswer(ask: Ask, nowUs: number, failure: FailureKind): Answer {
  return { allowed: false, granted: 0, nowUs, statuses: ask.charges.map(() => []), failure, by: 'closed' }
}

function kindOf(error: unknown): FailureKind {
  return error instanceof StoreError ? error.kind : 'other'
}

function copiesOf(ask: TakeAsk | PeekAsk): number {
  return ask.kind === 'take' ? ask.copies : 1
}
