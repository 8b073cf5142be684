import type { Clock } from '../../core/clock.ts'
import { mayPass } from './engine/book.ts'
import { type Decider, deciderOf, fits } from './engine/capacity.ts'
import { exchange } from './engine/exchange.ts'
import { enterCall, grantsOf, move, settle, takeOutOfAll } from './engine/grants.ts'
import { expire } from './engine/log.ts'
import { payRetry } from './engine/pauses.ts'
import { type GrantRecord, limitsInForce, newState, type UpstreamState } from './engine/state.ts'
import type { BookingPort, BookingRules, Units } from './messages.ts'

/** What a call needs that is granted without an exchange. */
interface DirectCall {
  readonly units: Units
  readonly arrivalMs?: number | undefined
  readonly first: boolean
}

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
    exchange(upstream, asked) {
      const known = stateOf(upstream)
      const reply = exchange(known.state, asked, timeUs(clock.monotonic()))
      // With the limits in force at this exchange.
      known.by = deciderOf(known.state, asked.rules, limitsInForce(known.state))
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

/**
 * A grant where there is room and nobody waits: the same as an exchange with this one booking, without looking at
 * everything else. Undefined if it cannot be; then nothing was changed. Only in this process does one
 * clock decide.
 */
function grantNow(by: Decider, owner: string, call: DirectCall, nowUs: number): GrantRecord | undefined {
  const { state } = by
  const record = state.owners.get(owner)
  if (record === undefined || record.isGone || state.pauses.size > 0 || !mayPass(state, owner)) return undefined
  advanceTo(by, nowUs)
  if (!fits(by, call.units)) return undefined
  record.seenUs = state.time.verifiedUs
  if (call.first) payRetry(by)
  const arrivalUs = call.arrivalMs === undefined ? -1 : Math.ceil(call.arrivalMs * 1000)
  return enterCall(by, record, 0, { id: '', units: call.units, arrivalUs })
}

/** The call of a grant has arrived at another moment than was entered. */
function moveNow(by: Decider, record: GrantRecord, atUs: number, nowUs: number): void {
  if (atUs === record.arrivesUs) return
  advanceTo(by, nowUs)
  move(by, record, atUs)
}

/** What a call cost, or undefined if nothing was written. */
function settleNow(by: Decider, record: GrantRecord, units: Units | undefined, nowUs: number): void {
  advanceTo(by, nowUs)
  if (units) settle(by, record, units)
  else takeOutOfAll(by, record)
}

function advanceTo({ state, logged }: Decider, nowUs: number): void {
  const { time } = state
  time.timeUs = Math.max(time.timeUs, nowUs)
  time.verifiedUs = time.timeUs
  for (const { limit, log } of logged) expire(log, limit, time.verifiedUs)
}
