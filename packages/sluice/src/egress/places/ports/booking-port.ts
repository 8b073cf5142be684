import type { Exchange, ExchangeReply } from '../../booking/messages.ts'

/** Where the state of upstreams is kept: in this process or in Redis. */
export interface BookingPort {
  readonly name: string
  /**
   * Runs one exchange on the state of an upstream, once or not at all. Rejects when the result is not known by
   * `withinMs`; then the same steps are sent again in an exchange with a higher number.
   */
  exchange(upstream: string, asked: Exchange, withinMs: number): ExchangeReply | Promise<ExchangeReply>
  /** Whether the state can be reached now; a port in this process has no such question. */
  isReachable?(withinMs: number): Promise<boolean>
  close(): Promise<void>
}
