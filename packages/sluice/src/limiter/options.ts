import { checkOptionNames, checkWhole } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { invalidOption } from '../core/errors.ts'
import type { LimitsSpec, PolicyDocument } from '../policy/document/document.ts'
import type { PolicySource } from '../policy/live/source.ts'
import type { KeyFunctions } from '../policy/rule/key.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { checkRecounts } from '../stores/recount/check-recounts.ts'
import type { Recounts } from '../stores/recount/recount.ts'
import type { Store } from '../stores/store.ts'

export interface LimiterOptions<Policy extends PolicyDocument | PolicySource = PolicyDocument | PolicySource> {
  /** What to enforce: a plain policy object, or a source such as `filePolicy('sluice.yaml')`. */
  readonly policy?: Policy
  /**
   * In place of a policy: limits of one rule, `default`, such as `{ rpm: 100 }`. Requests are distinguished by their
   * address (`ip`), all else by the key that is given to `take`.
   */
  readonly limits?: LimitsSpec
  /** With `limits`: what the counters of this service are called in a shared store. `default` when left out. */
  readonly service?: string
  /** A policy to begin with when the source has none at start. Without it, that is an error. */
  readonly fallbackPolicy?: PolicyDocument
  /** Where counters live; in this process when left out. */
  readonly store?: Store
  /** Within how many milliseconds every decision is made, whatever the store does. */
  readonly deadlineMs?: number
  /** When to stop asking a failing store: after `failures` in a row, for `cooldownMs`. */
  readonly breaker?: { readonly failures?: number; readonly cooldownMs?: number }
  /**
   * How many replicas share the limits of `local` rules while the store is away; counted by heartbeat when left out.
   */
  readonly replicas?: number
  /**
   * How long a denial may be repeated without asking the store (`maxMs`), for how many subjects; false turns it off.
   */
  readonly denyCache?: { readonly maxMs?: number; readonly maxSubjects?: number } | false
  /** For rules with `lease: true`: how far ahead units are drawn, and the most drawn at once. */
  readonly lease?: { readonly aheadMs?: number; readonly maxUnits?: number }
  /** Functions that the policy can name as keys: `key: fn:tenantOf` calls `functions.tenantOf(request)`. */
  readonly functions?: KeyFunctions
  /**
   * By the names of rules with `onStoreFailure: recount`: asks the source of truth while the store cannot decide. A
   * function counts what was used; `{ take }` decides, and only that holds a limit across replicas then.
   */
  readonly recount?: Recounts
  /** Where `RATE_LIMIT_TIER...` is read from; the process' environment when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Where time comes from, for tests and simulations; a store has its own. The system's time when left out. */
  readonly clock?: Clock
}

export interface ResolvedOptions {
  readonly deadlineMs: number
  readonly breaker: { readonly failures: number; readonly cooldownMs: number }
  readonly replicas: number | undefined
  readonly denyCache: { readonly maxMs: number; readonly maxSubjects: number } | undefined
  readonly lease: { readonly aheadMs: number; readonly maxUnits: number }
  readonly clock: Clock
}

type Defaults = Required<Pick<ResolvedOptions, 'deadlineMs' | 'breaker' | 'lease'>> & {
  readonly denyCache: NonNullable<ResolvedOptions['denyCache']>
}

const limiterDefaults: Defaults = Object.freeze({
  deadlineMs: 500,
  breaker: Object.freeze({ failures: 5, cooldownMs: 250 }),
  denyCache: Object.freeze({ maxMs: 1000, maxSubjects: 100_000 }),
  lease: Object.freeze({ aheadMs: 50, maxUnits: 10_000 }),
})

const known = [
  'policy',
  'limits',
  'service',
  'fallbackPolicy',
  'store',
  'deadlineMs',
  'breaker',
  'replicas',
  'denyCache',
  'lease',
  'functions',
  'recount',
  'env',
  'clock',
]

const nestedNames = {
  breaker: ['failures', 'cooldownMs'],
  denyCache: ['maxMs', 'maxSubjects'],
  lease: ['aheadMs', 'maxUnits'],
}

/** Checks the options and fills in the defaults, once. */
export function resolveOptions(options: LimiterOptions): ResolvedOptions {
  checkOptionNames('createLimiter', options, known)
  if (options.store !== undefined && typeof options.store?.decide !== 'function') {
    throw invalidOption('createLimiter.store', options.store, 'pass memoryStore() or redisStore(client)')
  }
  for (const [name, key] of Object.entries(options.functions ?? {})) {
    if (typeof key !== 'function')
      throw invalidOption(`createLimiter.functions.${name}`, key, 'pass a function from a request to its key')
  }
  checkRecounts(options.recount)
  for (const [name, nested] of Object.entries(nestedNames)) {
    const value = options[name as keyof typeof nestedNames]
    if (value !== undefined && value !== false) checkOptionNames(`createLimiter.${name}`, value, nested)
  }
  const resolved = {
    deadlineMs: options.deadlineMs ?? limiterDefaults.deadlineMs,
    breaker: { ...limiterDefaults.breaker, ...options.breaker },
    replicas: options.replicas,
    denyCache: options.denyCache === false ? undefined : { ...limiterDefaults.denyCache, ...options.denyCache },
    lease: { ...limiterDefaults.lease, ...options.lease },
    clock: options.clock ?? systemClock(),
  }
  checkWhole('createLimiter.deadlineMs', resolved.deadlineMs, 1, 'milliseconds')
  checkWhole('createLimiter.breaker.failures', resolved.breaker.failures, 1, 'failures')
  checkWhole('createLimiter.breaker.cooldownMs', resolved.breaker.cooldownMs, 1, 'milliseconds')
  if (resolved.replicas !== undefined) checkWhole('createLimiter.replicas', resolved.replicas, 1, 'replicas')
  if (resolved.denyCache) {
    checkWhole('createLimiter.denyCache.maxMs', resolved.denyCache.maxMs, 1, 'milliseconds')
    checkWhole('createLimiter.denyCache.maxSubjects', resolved.denyCache.maxSubjects, 1, 'subjects')
  }
  checkWhole('createLimiter.lease.aheadMs', resolved.lease.aheadMs, 1, 'milliseconds')
  checkWhole('createLimiter.lease.maxUnits', resolved.lease.maxUnits, 1, 'units')
  return resolved
}

/** The policy that the options ask for; limits alone are a policy of one rule. */
export function policyOf({ policy, limits, service }: LimiterOptions): PolicyDocument | PolicySource {
  if (limits === undefined) {
    if (service !== undefined)
      throw invalidOption('createLimiter.service', service, 'it goes with limits; a policy names its service itself')
    if (typeof policy === 'object' && policy !== null) return policy
    const remedy = "pass a policy object, a source such as filePolicy('sluice.yaml'), or limits such as { rpm: 100 }"
    throw invalidOption('createLimiter.policy', policy, remedy)
  }
  if (policy !== undefined) throw invalidOption('createLimiter.limits', limits, 'give either limits or a policy')
  return { service: service ?? 'default', rules: [{ name: 'default', key: 'ip', limits }] }
}
