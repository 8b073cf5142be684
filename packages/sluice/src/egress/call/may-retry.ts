import { backoffMs } from '../../core/backoff.ts'

/** Why an attempt has no usable response. */
export type AttemptOutcome =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly limited: boolean
      readonly vendorAllows: boolean | undefined
    }
  | { readonly kind: 'failure'; readonly written: boolean }

export interface RetriedRequest {
  readonly method: string
  readonly hasIdempotencyKey: boolean
  /** Whether the body can be sent again. */
  readonly canRepeat: boolean
}

const idempotent: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
/** Failures on the way to the vendor or inside it, after which the same request may succeed. */
const passing: ReadonlySet<number> = new Set([408, 502, 503, 504])

/**
 * Whether an attempt may be made again: only if it did not reach the vendor, if the vendor reports that it did not
 * serve it, or if it has the same effect when it is done twice. A 503 without `Retry-After` reports no such thing: many
 * gateways send one after the work was done.
 */
export function isSafeToRetry(request: RetriedRequest, outcome: AttemptOutcome): boolean {
  if (!request.canRepeat) return false
  const isRepeatable = idempotent.has(request.method) || request.hasIdempotencyKey
  if (outcome.kind === 'failure') return !outcome.written || isRepeatable
  if (outcome.vendorAllows === false) return false
  if (outcome.limited) return true
  return passing.has(outcome.status) && isRepeatable
}

export interface RetryDelay {
  readonly baseMs: number
  readonly maxMs: number
}

/** After how long the next attempt is made; Infinity when there must be none. */
export function nextAttemptMs(
  retry: (RetryDelay & { readonly attempts: number }) | undefined,
  request: RetriedRequest,
  outcome: AttemptOutcome,
  attempts: number,
  waitMs: number,
  random: () => number,
): number {
  if (retry === undefined || attempts >= retry.attempts || !isSafeToRetry(request, outcome)) return Infinity
  return retryDelayMs(retry, attempts, waitMs, random)
}

/** Full jitter added to what the vendor asks for: never earlier, and not all at the same moment. */
export function retryDelayMs(retry: RetryDelay, attempt: number, waitMs: number, random: () => number): number {
  const { baseMs, maxMs } = retry
  return waitMs + Math.ceil(backoffMs(attempt - 1, random, { baseMs, maxMs, jitter: 1 }))
}
