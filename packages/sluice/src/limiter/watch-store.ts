import type { Emitter } from '../core/observe/emitter.ts'
import type { CallbackStore } from '../stores/callback-store.ts'
import type { LimiterEvents } from './events.ts'

/** Passes what a store does on as events; the returned function ends that. */
export function watchStore(store: CallbackStore, events: Emitter<LimiterEvents>): () => void {
  return store.watch({
    roundTrip: (asks, tookMs) => events.emit('storeAnswered', { asks, tookMs }),
    local: (by, rule) => events.emit('answeredLocally', { by, rule }),
    lease: (rule, drawn, returned, stranded) => events.emit('leased', { rule, drawn, returned, stranded }),
    failure: (kind, error) => events.emit('storeFailed', { kind, error }),
    recount: (rule, outcome, error) =>
      events.emit('recounted', { rule, outcome, ...(error === undefined ? {} : { error }) }),
    breaker: (state) => events.emit('breakerChanged', { state }),
    evicted: (keys) => events.emit('evicted', { keys }),
  })
}
