import type { Clock } from '../../core/clock.ts'
import { exchange } from '../booking/exchange.ts'
import { newState, type UpstreamState } from '../booking/state.ts'
import type { BookingPort } from './booking-port.ts'

/** Keeps the state of upstreams in this process. */
export function memoryPort(clock: Clock): BookingPort {
  const states = new Map<string, UpstreamState>()
  const listeners = new Map<string, () => void>()
  return {
    name: 'memory',
    exchange(upstream, asked) {
      const nowMs = Math.floor(clock.now() / 1000)
      let state = states.get(upstream)
      if (state === undefined) {
        state = newState(nowMs)
        states.set(upstream, state)
      }
      const reply = exchange(state, asked, nowMs)
      for (const { owner } of reply.notify) {
        const listener = listeners.get(`${upstream} ${owner}`)
        if (listener) queueMicrotask(listener)
      }
      return reply
    },
    listen(upstream, owner, onAssigned) {
      listeners.set(`${upstream} ${owner}`, onAssigned)
      return () => listeners.delete(`${upstream} ${owner}`)
    },
    close: async () => {},
  }
}
