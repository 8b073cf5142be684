import type { BookingRules, BookStep, Exchange, ExchangeReply, SettlingStep } from '../../booking/messages.ts'

/** Where the state of upstreams is kept: in this process or in Redis. */
export interface BookingPort {
  readonly name: string
  /**
   * Runs one exchange on the state of an upstream, exactly once or not at all. Rejects when the result is not known by
   * `withinMs`; then the same steps may be sent again, as every one of them is idempotent by its id.
   */
  exchange(upstream: string, asked: Exchange, withinMs: number): ExchangeReply | Promise<ExchangeReply>
  /** Calls back when places were assigned to waiters of a process. A hint only: it may be lost. */
  listen(upstream: string, owner: string, onAssigned: () => void): () => void
  /** Whether the state can be reached now; a port in this process has no such question. */
  isReachable?(withinMs: number): Promise<boolean>
  close(): Promise<void>
  /** For one user of an upstream. */
  inProcess?(upstream: string, owner: string): InProcessBooking
}

/** What a port whose state is in this process can do at once, without an exchange. Times are of the monotonic clock. */
export interface InProcessBooking {
  /** Takes a place where one is free and nobody waits. Returns false if it cannot; then nothing was changed. */
  hold(rules: BookingRules, id: string, call: PlainCall, nowMs: number): boolean
  /**
   * Runs a step. True when calls wait, so that the places it freed should be assigned. The end of a call whose cost is
   * not corrected needs no time.
   */
  settle(rules: BookingRules, step: SettlingStep, nowMs?: number): boolean
}

/** The parts of a call that a place needs. */
export type PlainCall = Pick<BookStep, 'tenant' | 'weight' | 'scope' | 'units' | 'first'>
