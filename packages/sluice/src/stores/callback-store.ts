import type { BreakerState } from '../breaker/circuit.ts'
import type { Answer, Ask } from '../core/engine/ask.ts'
import type { StoreError } from '../core/errors.ts'
import type { AnswerCallback, Store } from './store.ts'

export type { AnswerCallback } from './store.ts'

/** A layer between the limiter and the store. It can always be asked with a callback. */
export interface CallbackStore extends Store {
  /** See `StoreAbilities.submit`. */
  submit(ask: Ask, withinMs: number, callback: AnswerCallback): Answer | undefined
  watch(observer: Parameters<NonNullable<Store['watch']>>[0]): () => void
}

/** Asks for an answer or the promise of one. */
export function toPromise(store: CallbackStore, ask: Ask, withinMs: number): Answer | Promise<Answer> {
  const waiting = new Waiting()
  const answer = store.submit(ask, withinMs, waiting)
  return answer ?? waiting.promise()
}

class Waiting implements AnswerCallback {
  answered!: (answer: Answer) => void
  failed!: (error: unknown) => void

  promise(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.answered = resolve
      this.failed = reject
    })
  }
}

/** A store that answers whatever the store behind it does. */
export interface FallbackStore extends CallbackStore {
  readonly breaker: BreakerState
  /** Since the store last answered; 0 while it does. */
  readonly lastContactMs: number
  /** How it failed last, until it answers again. */
  readonly failure: StoreError | undefined
}
