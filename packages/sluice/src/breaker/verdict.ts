import { type ErrorCode, isSluiceError } from '../core/errors.ts'
import type { CallOutcome } from './stats.ts'

/** Errors of calls that were refused in this process: they show nothing about what would have been called. */
const refusals: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['SLUICE_BREAKER_OPEN', 'SLUICE_REFUSED'])

/** Whether a breaker or a bulkhead refused the call. */
export function isRefusal(error: unknown): boolean {
  return isSluiceError(error) && refusals.has(error.code)
}

/**
 * Whether the caller aborted the call. When a timeout aborted the signal, what was called is too slow, and that is a
 * failure.
 */
export function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && (signal.reason as Error | undefined)?.name !== 'TimeoutError'
}

/** What the error of a call means for the breaker. */
export function judge(
  error: unknown,
  signal: AbortSignal | undefined,
  isFailure: ((error: unknown) => boolean) | undefined,
): CallOutcome {
  if (isAborted(signal)) return 'cancelled'
  if (isRefusal(error)) return 'rejected'
  try {
    return isFailure === undefined || isFailure(error) ? 'failed' : 'succeeded'
  } catch {
    // `isFailure` could not read the error, so nothing shows that it is harmless.
    return 'failed'
  }
}
