import type { Clock } from '../../../core/clock.ts'
import { exchange } from '../../booking/exchange.ts'
import { holdNow, settleNow } from '../../booking/hold-now.ts'
import { newState, type UpstreamState } from '../../booking/state.ts'
import type { BookingPort } from './booking-port.ts'

/** Keeps the state of upstreams in this process. */
export function memoryPort(clock: Clock): BookingPort {
  const states = new Map<string, UpstreamState>()
  const listeners = new Map<string, () => void>()
  const wallMs = (): number => Math.floor(clock.now() / 1000)
  const stateOf = (upstream: string): UpstreamState => {
    let state = states.get(upstream)
    if (state === undefined) {
      state = newState(wallMs())
      states.set(upstream, state)
    }
    return state
  }
  return {
    name: 'memory',
    exchange(upstream, asked) {
      const reply = exchange(stateOf(upstream), asked, wallMs())
      for (const { owner } of reply.notify) {
        const listener = listeners.get(`${upstream} ${owner}`)
        if (listener) queueMicrotask(listener)
      }
      return reply
    },
    inProcess: {
      hold: (upstream, owner, rules, call) => holdNow(stateOf(upstream), rules, owner, call, wallMs()),
      settle: (upstream, owner, rules, step) => settleNow(stateOf(upstream), rules, owner, step, wallMs()),
    },
    listen(upstream, owner, onAssigned) {
      listeners.set(`${upstream} ${owner}`, onAssigned)
      return () => listeners.delete(`${upstream} ${owner}`)
    },
    close: async () => {},
  }
}
