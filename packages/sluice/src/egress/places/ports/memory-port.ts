import type { Clock } from '../../../core/clock.ts'
import { exchange } from '../../booking/exchange.ts'
import { holdNow, settleNow } from '../../booking/hold-now.ts'
import { newState, type UpstreamState } from '../../booking/state.ts'
import type { BookingPort } from './booking-port.ts'

/** Keeps the state of upstreams in this process. */
export function memoryPort(clock: Clock): BookingPort {
  const states = new Map<string, UpstreamState>()
  const listeners = new Map<string, () => void>()
  // Since the epoch, but by the monotonic clock: a place is taken and returned without reading another clock.
  const epochMs = clock.now() / 1000 - clock.monotonic()
  const timeMs = (monotonicMs: number): number => Math.floor(epochMs + monotonicMs)
  const stateOf = (upstream: string): UpstreamState => {
    let state = states.get(upstream)
    if (state === undefined) {
      state = newState(timeMs(clock.monotonic()))
      states.set(upstream, state)
    }
    return state
  }
  return {
    name: 'memory',
    exchange(upstream, asked) {
      const reply = exchange(stateOf(upstream), asked, timeMs(clock.monotonic()))
      for (const { owner } of reply.notify) {
        const listener = listeners.get(`${upstream} ${owner}`)
        if (listener) queueMicrotask(listener)
      }
      return reply
    },
    inProcess(upstream, owner) {
      const state = stateOf(upstream)
      return {
        hold: (rules, id, call, nowMs) => holdNow(state, rules, owner, id, call, timeMs(nowMs)),
        settle: (rules, step, nowMs) =>
          settleNow(state, rules, owner, step, nowMs === undefined ? undefined : timeMs(nowMs)),
      }
    },
    listen(upstream, owner, onAssigned) {
      listeners.set(`${upstream} ${owner}`, onAssigned)
      return () => listeners.delete(`${upstream} ${owner}`)
    },
    close: async () => {},
  }
}
