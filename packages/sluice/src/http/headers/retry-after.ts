import type { Decision } from '../../limiter/decision/decision.ts'
import { seconds } from './header.ts'

/** For what can never pass: as long as a Node timer can wait, so that a client that obeys does not spin. */
const neverSeconds = 2_147_483

/**
 * The seconds of `Retry-After`: at least 1, and never before the last of the limits that deny is open again.
 * `jitterMs` is added as it is, so that clients which were refused together do not return together.
 */
export function retryAfterSeconds(decision: Decision, jitterMs: number): number {
  let ms = decision.retryAfterMs
  for (const limit of decision.limits) if (limit.retryAfterMs > ms) ms = limit.retryAfterMs
  if (ms === Number.POSITIVE_INFINITY) return neverSeconds
  return ms > 0 ? Math.max(1, seconds(ms + jitterMs)) : Math.max(1, seconds(jitterMs))
}
