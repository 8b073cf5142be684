import { memoryStore } from 'sluice'
import { type Store, StoreError, wrapStore } from 'sluice/store'

/** A store in memory that can be taken away, as a Redis can. */
export interface DemoStore {
  readonly store: Store
  setAway(isAway: boolean): void
}

export function demoStore(): DemoStore {
  const inner = memoryStore()
  let isAway = false
  const away = (): StoreError =>
    new StoreError('timeout', 'The demo took its store away for 20 s, as a Redis that does not answer.')
  return {
    store: wrapStore(inner, {
      name: 'demo store',
      // As over a network: the answer comes later, so that deadlines, the breaker and fallbacks are at work.
      async decide(ask, withinMs) {
        if (isAway) throw away()
        return inner.decide(ask, withinMs)
      },
      async health(withinMs) {
        return isAway ? { ...(await inner.health(withinMs)), reachable: false } : inner.health(withinMs)
      },
    }),
    setAway(next) {
      isAway = next
    },
  }
}
