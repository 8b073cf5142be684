import { checkOptionNames, checkWhole } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import type { LimitsSpec, PolicyDocument } from '../policy/document/document.ts'
import type { PolicyInput } from '../policy/live/use-policy.ts'
import type { KeyFunctions } from '../policy/rule/key.ts'
import type { RedisHandle } from '../redis/handle.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { checkRecounts } from '../stores/recount/check-recounts.ts'
import type { Recounts } from '../stores/recount/recount.ts'
import type { Store } from '../stores/store.ts'

export interface LimiterOptions<Policy extends PolicyInput = PolicyInput> {
  /**
   * What to enforce: a plain policy object, a source such as `filePolicy('sluice.yaml')`, or what `openPolicy` opened,
   * which parts share.
   */
  readonly policy?: Policy
  /**
   * In place of a policy: limits of one rule, `default`, such as `{ rpm: 100 }`. Requests are distinguished by their
   * address (`ip`), all else by the key that is given to `take`.
   */
  readonly limits?: LimitsSpec
  /** With `limits`: what the counters of this service are called; by default as in `openRedis`, else `default`. */
  readonly service?: string
  /** A policy to begin with when the source has none at start. Without it, that is an error. */
  readonly fallbackPolicy?: PolicyDocument
  /** Where counters are shared by all replicas: a handle of `openRedis`. Without it they are in this process. */
  readonly redis?: RedisHandle
  /** Where counters live, if it is neither Redis nor this process, or a `memoryStore` with options. */
  readonly store?: Store
  /** Within what time every decision is made, whatever the store does. 500 ms by default. */
  readonly deadline?: Duration
  /** When to stop asking a failing store: after `failures` in a row, for the `cooldown`. */
  readonly breaker?: { readonly failures?: number; readonly cooldown?: Duration }
  /**
   * How many replicas share the limits of `local` rules while the store is away; counted by heartbeat when left out.
   */
  readonly replicas?: number
  /**
   * How long a denial may be repeated without asking the store, for how many subjects; false turns it off.
   */
  readonly denyCache?: { readonly maxAge?: Duration; readonly maxSubjects?: number } | false
  /** For rules with `lease: true`: how far ahead units are drawn, and the most drawn at once. */
  readonly lease?: { readonly ahead?: Duration; readonly maxUnits?: number }
  /** Functions that the policy can name as keys: `key: fn:tenantOf` calls `functions.tenantOf(request)`. */
  readonly functions?: KeyFunctions
  /**
   * By the names of rules with `onStoreFailure: recount`: asks the source of truth while the store cannot decide. A
   * function counts what was used; `{ take }` decides, and only that holds a limit across replicas then.
   */
  readonly recount?: Recounts
  /** Where `RATE_LIMIT_TIER...` is read from; the process' environment when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Distinguishes limiters of one process in reports and metrics. */
  readonly name?: string
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

const known = [
  'policy',
  'limits',
  'service',
  'fallbackPolicy',
  'redis',
  'store',
  'deadline',
  'breaker',
  'replicas',
  'denyCache',
  'lease',
  'functions',
  'recount',
  'env',
  'name',
  'clock',
]

const nestedNames = {
  breaker: ['failures', 'cooldown'],
  denyCache: ['maxAge', 'maxSubjects'],
  lease: ['ahead', 'maxUnits'],
}

/** Checks the options and fills in the defaults, once. */
export function resolveOptions(options: LimiterOptions): ResolvedOptions {
  checkOptionNames('createLimiter', options, known)
  checkPolicy(options)
  if (options.store !== undefined && typeof options.store?.decide !== 'function') {
    throw invalidOption('createLimiter.store', options.store, 'pass memoryStore(), or redis: openRedis(client)')
  }
  if (options.store !== undefined && options.redis !== undefined) {
    throw invalidOption('createLimiter.store', options.store.name, 'give either redis or a store')
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
  const { breaker, denyCache, lease } = options
  const ms = (name: string, given: Duration | undefined, otherwise: number): number => {
    const parsed = parseDuration(given ?? otherwise, `createLimiter.${name}`)
    checkWhole(`createLimiter.${name}`, parsed, 1, 'milliseconds')
    return parsed
  }
  const whole = (name: string, value: number, what: string): number => {
    checkWhole(`createLimiter.${name}`, value, 1, what)
    return value
  }
  return {
    deadlineMs: ms('deadline', options.deadline, 500),
    breaker: {
      failures: whole('breaker.failures', breaker?.failures ?? 5, 'failures'),
      cooldownMs: ms('breaker.cooldown', breaker?.cooldown, 250),
    },
    replicas: options.replicas === undefined ? undefined : whole('replicas', options.replicas, 'replicas'),
    denyCache:
      denyCache === false
        ? undefined
        : {
            maxMs: ms('denyCache.maxAge', denyCache?.maxAge, 1000),
            maxSubjects: whole('denyCache.maxSubjects', denyCache?.maxSubjects ?? 100_000, 'subjects'),
          },
    lease: {
      aheadMs: ms('lease.ahead', lease?.ahead, 50),
      maxUnits: whole('lease.maxUnits', lease?.maxUnits ?? 10_000, 'units'),
    },
    clock: options.clock ?? systemClock(),
  }
}

/** Limits, or a policy: exactly one of them. */
function checkPolicy({ policy, limits, service }: LimiterOptions): void {
  if (limits !== undefined) {
    if (policy !== undefined) throw invalidOption('createLimiter.limits', limits, 'give either limits or a policy')
    return
  }
  if (service !== undefined)
    throw invalidOption('createLimiter.service', service, 'it goes with limits; a policy names its service itself')
  if (typeof policy === 'object' && policy !== null) return
  const remedy = "pass a policy object, a source such as filePolicy('sluice.yaml'), or limits such as { rpm: 100 }"
  throw invalidOption('createLimiter.policy', policy, remedy)
}
