import type { Emitter } from '../core/emitter.ts'
import type { Store } from '../stores/store.ts'
import type { LimiterEvents } from './events.ts'

const watched = new WeakSet<Store>()

/** Passes what a store does on as events, from the first time that anybody listens. */
export function watchStore(store: Store, events: Emitter<LimiterEvents>): void {
  if (watched.has(store)) return
  watched.add(store)
  store.watch?.({
    roundTrip: (asks, tookMs) => events.emit('roundTrip', { asks, tookMs }),
    local: (by, rule) => events.emit('local', { by, rule }),
    lease: (rule, drawn, returned, stranded) => events.emit('lease', { rule, drawn, returned, stranded }),
    failure: (kind, error) => events.emit('storeFailure', { kind, error }),
    breaker: (state) => events.emit('breaker', { state }),
  })
}
