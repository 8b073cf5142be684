import type { Answer, Ask } from '../core/ask.ts'
import type { Store } from './store.ts'

/** Whoever waits for an answer; told exactly once. */
export interface Asker {
  answered(answer: Answer): void
  failed(error: unknown): void
}

/** A store that can be asked without a promise for every layer that an answer passes: thousands may be waiting for one. */
export interface AskedStore extends Store {
  /** Returns the answer if there is one at once; else the asker is told, after this has returned. */
  submit(ask: Ask, withinMs: number, asker: Asker): Answer | undefined
}

/** Asks for an answer or the promise of one. */
export function askFor(store: AskedStore, ask: Ask, withinMs: number): Answer | Promise<Answer> {
  const waiting = new Waiting()
  const answer = store.submit(ask, withinMs, waiting)
  return answer ?? waiting.promise()
}

/** Submits an ask to whatever kind of store. */
export function submitTo(store: Store, ask: Ask, withinMs: number, asker: Asker): Answer | undefined {
  if (isAsked(store)) return store.submit(ask, withinMs, asker)
  const answer = store.decide(ask, withinMs)
  if (!(answer instanceof Promise)) return answer
  answer.then(
    (settled) => asker.answered(settled),
    (error) => asker.failed(error),
  )
  return undefined
}

class Waiting implements Asker {
  answered!: (answer: Answer) => void
  failed!: (error: unknown) => void

  promise(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.answered = resolve
      this.failed = reject
    })
  }
}

function isAsked(store: Store): store is AskedStore {
  return 'submit' in store
}
