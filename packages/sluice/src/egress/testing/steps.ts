import { exchange } from '../booking/exchange.ts'
import type { BookingRules, BookStep, ExchangeReply, Step, Units } from '../booking/messages.ts'
import type { UpstreamState } from '../booking/state.ts'

/** Two requests in a second. */
export const rules: BookingRules = {
  limits: [{ key: 'requests/1000', amount: 2, periodMs: 1000 }],
  maxQueue: 1000,
  maxQueuePerTenant: 1000,
  heldMs: 10_000,
  spacing: 'even',
  marginMs: 0,
  retryPerCall: 100,
  retryPerSecond: 1000,
}
const one: Units = { 'requests/1000': 1 }

/** Books one unit. */
export const bookOf = (id: string, over: Partial<BookStep> = {}): BookStep => ({
  ...{ op: 'book', id, tenant: '', weight: 1, priorityMs: 0, waitedMs: 0, maxWaitMs: 60_000, scope: '', units: one },
  first: true,
  ...over,
})

/** One exchange of a process. */
export function run(
  state: UpstreamState,
  owner: string,
  nowMs: number,
  steps: readonly Step[],
  by: BookingRules = rules,
): ExchangeReply {
  return exchange(state, { owner, sinceMs: -1, rules: by, steps }, nowMs)
}

/** A process exchanges without any steps. */
export const idle = (state: UpstreamState, nowMs: number, owner = 'a'): ExchangeReply => run(state, owner, nowMs, [])
/** A call is answered and over. */
export const finish = (state: UpstreamState, owner: string, nowMs: number, id: string): ExchangeReply =>
  run(state, owner, nowMs, [
    { op: 'answered', id, ticks: { 'requests/1000': id } },
    { op: 'done', id, ticks: {} },
  ])
