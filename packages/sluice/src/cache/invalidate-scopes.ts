import { checkOptionNames } from '../core/check-options.ts'
import { invalidOption, SluiceError } from '../core/errors.ts'
import { sleep } from '../runtime/sleep.ts'
import type { InvalidateOptions, InvalidationTargets } from './cache.ts'
import type { Flights } from './flights/flights.ts'
import type { InvalidationTarget } from './keys/cache-key.ts'
import { keyOf } from './keys/plain-key.ts'
import type { L1 } from './l1/l1.ts'
import type { L2 } from './l2/l2.ts'
import type { CacheMonitor } from './monitor.ts'
import type { ResolvedOptions } from './options.ts'
import { expiryOf } from './protocol/messages.ts'

/** An invalidation whose arguments make sense. */
export interface InvalidationRequest {
  readonly scopes: readonly string[]
  readonly mode: 'fast' | 'strict'
  /** How many replicas must have it. */
  readonly wait: number
}

/** Checks the arguments of `invalidate`. */
export function readInvalidation(
  method: 'invalidate' | 'expire',
  target: InvalidationTargets,
  options: InvalidateOptions,
): InvalidationRequest {
  checkOptionNames(method, options, ['mode', 'wait'])
  const { mode = 'fast', wait = 0 } = options
  if (!Number.isInteger(wait) || wait < 0)
    throw invalidOption(`${method}.wait`, wait, 'use a number of replicas, such as 1')
  if (mode !== 'fast' && mode !== 'strict') throw invalidOption(`${method}.mode`, mode, 'use "fast" or "strict"')
  const targets = Array.isArray(target) ? target : [target]
  const scopes = targets.map((each) => {
    const { scope } = (typeof each === 'string' ? keyOf(each) : (each ?? {})) as Partial<InvalidationTarget>
    if (typeof scope === 'string') return method === 'expire' ? expiryOf(scope) : scope
    throw invalidOption(`${method} target`, each, 'use a key, keys.name.prefix(...), tag(name) or everything')
  })
  return { scopes, mode, wait }
}

/** What an invalidation concerns. */
export interface InvalidationParts {
  readonly options: ResolvedOptions
  readonly monitor: CacheMonitor
  readonly l1: L1
  readonly l2: L2 | undefined
  readonly flights: Flights
}

/** Invalidates in this process and, through Redis, in all others. */
export async function invalidateScopes(
  { options, monitor, l1, l2, flights }: InvalidationParts,
  { scopes, mode, wait }: InvalidationRequest,
): Promise<{ readonly sent: boolean }> {
  if (l2 === undefined) {
    l1.invalidateAlone(scopes)
    monitor.invalidated('sent', scopes.length)
    return { sent: true }
  }
  const { clock, redisDeadlineMs } = options
  let { proofMs } = options
  const endMs = clock.monotonic() + redisDeadlineMs
  try {
    const { applied, longestProofMs } = await l2.invalidate(scopes)
    proofMs = Math.max(proofMs, longestProofMs)
    if (!applied) flights.invalidate(scopes)
  } catch (error) {
    // Redis may have executed it nevertheless. This process applies it now in any case, until Redis has it.
    l1.purge(scopes)
    flights.invalidate(scopes)
    l2.sendLater(scopes, error)
    if (mode === 'strict' || wait > 0) throw notConfirmed('invalidate', error)
    return { sent: false }
  }
  if (wait > 0) {
    await l2.waitForReplicas(wait, Math.max(1, endMs - clock.monotonic())).catch((error) => {
      throw notConfirmed('invalidate', error)
    })
  }
  // Proofs that any process obtained before the invalidation end within this time. Clocks differ in rate a little.
  if (mode === 'strict') await sleep(proofMs * 1.01 + 2, clock, undefined)
  return { sent: true }
}

/** The error of a change that Redis did not confirm. */
export function notConfirmed(what: string, cause: unknown): SluiceError {
  return new SluiceError('SLUICE_STORE_FAILED', `Redis did not confirm ${what}`, { cause, transient: true })
}
