import type { Answer, Ask } from '../core/engine/ask.ts'
import { type FailureKind, StoreError } from '../core/errors.ts'
import type { Store } from '../stores/store.ts'
import { wrapStore } from '../stores/wrap-store.ts'

/** How a wrapped store treats one ask: as the store does, or worse. */
type Treatment = (decide: () => Answer | Promise<Answer>) => Answer | Promise<Answer>

/**
 * A store whose every ask fails with this kind, without reaching the store behind it.
 *
 * @example const limiter = await createLimiter({ policy, store: failingStore(memoryStore(), 'oom') })
 */
export function failingStore(store: Store, kind: FailureKind = 'refused'): Store {
  return treated(store, () => Promise.reject(injected(kind)))
}

/** A store whose first `times` asks fail with this kind; those after them reach the store. */
export function failingStoreFor(store: Store, times: number, kind: FailureKind = 'refused'): Store {
  let left = times
  return treated(store, (decide) => (left-- > 0 ? Promise.reject(injected(kind)) : decide()))
}

/** A store that does what it is asked at once and answers `delayMs` later, as over a slow network. */
export function slowStore(store: Store, delayMs: number): Store {
  return treated(store, async (decide) => {
    const answer = await decide()
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    return answer
  })
}

/** A store that never answers: neither well nor badly, and whatever deadline it is given. */
export function silentStore(store: Store): Store {
  return treated(store, () => new Promise(() => {}))
}

/** A store that does what it is asked and then loses the answer. */
export function forgetfulStore(store: Store, kind: FailureKind = 'connection'): Store {
  return treated(store, async (decide) => {
    await decide()
    throw injected(kind)
  })
}

/** A store with a switch: while `failing` names a kind, every ask fails with it. */
export interface SwitchedStore extends Store {
  failing: FailureKind | undefined
  /** How many asks came, also those that failed. */
  readonly asked: number
}

/**
 * A store that a test takes down and up again.
 *
 * @example
 * const store = switchedStore(memoryStore())
 * store.failing = 'timeout'
 */
export function switchedStore(store: Store): SwitchedStore {
  let asked = 0
  const wrapped = treated(store, (decide) => {
    asked += 1
    const { failing } = switched
    return failing === undefined ? decide() : Promise.reject(injected(failing))
  })
  const switched: SwitchedStore = Object.defineProperty({ ...wrapped, failing: undefined, asked }, 'asked', {
    get: () => asked,
  })
  return switched
}

function treated(store: Store, treat: Treatment): Store {
  return wrapStore(store, { decide: (ask: Ask, withinMs: number) => treat(() => store.decide(ask, withinMs)) })
}

function injected(kind: FailureKind): StoreError {
  return new StoreError(kind, `This failure (${kind}) was made by a test.`)
}
