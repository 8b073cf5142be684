import type { StoreError } from '../../core/errors.ts'
import type { RedisArgument } from '../connection/connection.ts'
import type { MsgpackReader } from '../msgpack.ts'
import type { Script } from '../script.ts'

/** One call of a script that includes `lua/deadline.lua`. It ends exactly once: with `settle` or with `fail`. */
export interface ScriptCall {
  readonly script: Script
  /** All in one cluster slot. */
  readonly keys: readonly string[]
  /** The slot of the keys, where it is known; else it is that of the first key. */
  readonly slot?: number
  /** On this process' monotonic clock. A script that starts later does nothing. */
  readonly deadlineMs: number
  /** How long before its deadline it was asked for; left out, that was when it was run. */
  readonly withinMs?: number
  /**
   * Whether it ends at its deadline also where this process was late, as a decision does. Otherwise it is given as much
   * longer as this process was late: that is no silence of the server.
   */
  readonly endsOnTime?: boolean
  /** For how many waiters it stands; 1 when left out. */
  readonly size?: number
  /**
   * ARGV from ARGV[2] on: the first is the deadline. Made when the call is sent, and again should it be sent again.
   * `nowMs` is the server's time as far as it is known, never ahead of it.
   */
  args(nowMs: number): readonly RedisArgument[]
  /**
   * The script ran at `nowUs` of the server's time; `reply` stands at what it returned after status and time. A throw
   * fails the call.
   */
  settle(reply: MsgpackReader, nowUs: number): void
  fail(error: StoreError): void
  /** A reply came, `tookMs` after the call was sent; also one that only says "too late". */
  replied?(tookMs: number): void
}
