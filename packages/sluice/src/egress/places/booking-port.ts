import type { Exchange, ExchangeReply } from '../booking/messages.ts'

/** Where the state of upstreams lives: in this process or in Redis. */
export interface BookingPort {
  readonly name: string
  /**
   * Runs one exchange on the state of an upstream, exactly once or not at all. Rejects when that is not known by
   * `withinMs`; then the same steps may be asked again, as every one of them is idempotent by its id.
   */
  exchange(upstream: string, asked: Exchange, withinMs: number): ExchangeReply | Promise<ExchangeReply>
  /** Calls back when places were assigned to waiters of a process. A hint only: it may be lost. */
  listen(upstream: string, owner: string, onAssigned: () => void): () => void
  close(): Promise<void>
}
