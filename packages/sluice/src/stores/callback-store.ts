import type { Answer, Ask } from '../core/engine/ask.ts'
import type { Store } from './store.ts'

/** Whoever waits for an answer; told exactly once. */
export interface Waiter {
  answered(answer: Answer): void
  failed(error: unknown): void
}

/** A store that can be asked without a promise for every layer that an answer passes: thousands may be waiting for one. */
export interface CallbackStore extends Store {
  /** Returns the answer if there is one at once; else the waiter is told, after this has returned. */
  submit(ask: Ask, withinMs: number, waiter: Waiter): Answer | undefined
}

/** Asks for an answer or the promise of one. */
export function toPromise(store: CallbackStore, ask: Ask, withinMs: number): Answer | Promise<Answer> {
  const waiting = new Waiting()
  const answer = store.submit(ask, withinMs, waiting)
  return answer ?? waiting.promise()
}

/** Submits an ask to whatever kind of store. */
export function submitTo(store: Store, ask: Ask, withinMs: number, waiter: Waiter): Answer | undefined {
  if (takesCallbacks(store)) return store.submit(ask, withinMs, waiter)
  const answer = store.decide(ask, withinMs)
  if (!(answer instanceof Promise)) return answer
  answer.then(
    (settled) => waiter.answered(settled),
    (error) => waiter.failed(error),
  )
  return undefined
}

class Waiting implements Waiter {
  answered!: (answer: Answer) => void
  failed!: (error: unknown) => void

  promise(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.answered = resolve
      this.failed = reject
    })
  }
}

function takesCallbacks(store: Store): store is CallbackStore {
  return 'submit' in store
}
