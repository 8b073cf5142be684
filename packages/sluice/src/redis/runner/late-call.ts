import { StoreError } from '../../core/errors.ts'

/** A call without an answer at its deadline, by this process' monotonic clock. */
export interface LateCall {
  readonly askedMs: number
  /** `Infinity` when it was not sent. */
  readonly sentMs: number
  readonly deadlineMs: number
  /** How late this process was meanwhile. */
  readonly lateMs: number
}

/**
 * A call that this process kept for most of its time, while the server answered others, says nothing against the
 * server. `owedMs` is for how long the server has owed its oldest reply while this process was not late.
 */
export function lateFailure(call: LateCall, nowMs: number, owedMs: number): StoreError {
  const { askedMs, sentMs, deadlineMs, lateMs } = call
  const mostMs = (deadlineMs - askedMs) / 2
  const isKept = Math.min(sentMs, nowMs) - askedMs >= mostMs || lateMs >= mostMs
  return isKept && owedMs < mostMs
    ? overloaded()
    : new StoreError('timeout', 'Redis did not answer before the deadline.')
}

export function overloaded(): StoreError {
  return new StoreError('overload', 'This process is overloaded: it did not send the call, or read its reply, in time.')
}
