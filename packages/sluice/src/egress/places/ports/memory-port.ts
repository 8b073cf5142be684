import type { Clock } from '../../../core/clock.ts'
import type { Decider } from '../../booking/capacity.ts'
import { exchange } from '../../booking/exchange.ts'
import { grantsOf } from '../../booking/grants.ts'
import type { BookingRules, Units } from '../../booking/messages.ts'
import { type DirectCall, deciderOf, grantNow, moveNow, settleNow } from '../../booking/now.ts'
import { type GrantRecord, newState, type UpstreamState } from '../../booking/state.ts'
import type { BookingPort } from './booking-port.ts'

/** A port whose state is in this process. */
export interface MemoryPort extends BookingPort {
  /** For one user of an upstream. */
  inProcess(upstream: string, owner: string): InProcessBooking
}

/** What needs no exchange where the state is in this process. Times are of the monotonic clock. */
export interface InProcessBooking {
  /** A grant where there is room and nobody waits; undefined if not, and then nothing was changed. */
  grant(rules: BookingRules, call: DirectCall, nowMs: number): GrantRecord | undefined
  /** The record of a grant of an exchange; it is not kept elsewhere any more. */
  received(name: string): GrantRecord
  /** The call arrives at this time. */
  move(record: GrantRecord, atMs: number, nowMs: number): void
  /** What the call cost; undefined if nothing was written. */
  settle(record: GrantRecord, units: Units | undefined, nowMs: number): void
  /** So many calls of this user are over. */
  ended(count: number): void
}

interface Known {
  readonly state: UpstreamState
  /** Made by the last exchange. */
  by: Decider | undefined
}

/** Keeps the state of upstreams in this process. Nothing is ever lost, and there is one clock. */
export function memoryPort(clock: Clock, marker = 'm'): MemoryPort {
  const states = new Map<string, Known>()
  const timeUs = (monotonicMs: number): number => Math.floor(monotonicMs * 1000) + 1
  const stateOf = (upstream: string): Known => {
    let known = states.get(upstream)
    if (known === undefined) {
      known = { state: newState(timeUs(clock.monotonic()), marker), by: undefined }
      states.set(upstream, known)
    }
    return known
  }
  return {
    name: 'memory',
    exchange(upstream, asked) {
      const known = stateOf(upstream)
      const reply = exchange(known.state, asked, timeUs(clock.monotonic()))
      known.by = deciderOf(known.state, asked.rules)
      return reply
    },
    inProcess(upstream, owner) {
      const known = stateOf(upstream)
      return {
        // Other rules than those of the last exchange need an exchange first.
        grant: (rules, call, nowMs) =>
          known.by?.rules === rules ? grantNow(known.by, owner, call, timeUs(nowMs)) : undefined,
        received(name) {
          const own = grantsOf(known.state, owner)
          const record = own.get(name)!
          own.delete(name)
          return record
        },
        move: (record, atMs, nowMs) => moveNow(known.by!, record, timeUs(atMs), timeUs(nowMs)),
        settle: (record, units, nowMs) => settleNow(known.by!, record, units, timeUs(nowMs)),
        ended(count) {
          const record = known.state.owners.get(owner)
          if (record) record.ended = Math.max(record.ended, count)
        },
      }
    },
    close: async () => {},
  }
}
