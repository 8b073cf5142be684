import type { StoreError } from '../../core/errors.ts'

/**
 * One read of several keys by plain commands, which costs Redis far less than a script does. Not for a cluster: there,
 * a command without a key, such as TIME, may go to any node. It ends exactly once: with `received` or with `fail`.
 */
export interface ReadCall {
  readonly keys: readonly string[]
  /** On this process' monotonic clock. */
  readonly deadlineMs: number
  /** How long before its deadline it was asked for; left out, that was when it was run. */
  readonly withinMs?: number
  /** For how many waiters it stands; 1 when left out. */
  readonly size?: number
  /**
   * What each key has, null for none. `nowUs` is not before the server's time when the call was sent; `endMs` is its
   * deadline, later by as much as this process was late. A throw fails the call.
   */
  received(values: readonly (Buffer | null)[], nowUs: number, endMs: number): void
  fail(error: StoreError): void
}
