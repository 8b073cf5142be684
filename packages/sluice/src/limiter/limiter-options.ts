import { optionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import type { Duration } from '../core/duration.ts'
import type { LimitsSpec, PolicyDocument } from '../policy/document/document.ts'
import type { PolicyInput } from '../policy/live/open-policy.ts'
import type { Lookups } from '../policy/lookup/lookup-options.ts'
import type { KeyFunctions } from '../policy/rule/key.ts'
import type { RedisHandle } from '../redis/handle.ts'
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
  /** The most that wait at once in this process, by `wait` or with `maxWait`; others are refused. 1000 by default. */
  readonly maxWaiting?: number
  /** For rules with `lease: true`: how far ahead units are drawn, and the most drawn at once. */
  readonly lease?: { readonly ahead?: Duration; readonly maxUnits?: number }
  /** Functions that the policy can name as keys: `key: fn:tenantOf` calls `functions.tenantOf(request)`. */
  readonly functions?: KeyFunctions
  /**
   * What the policy can name as `tier: { lookup: plans }`: says the tier, or the limits, of a key. It is asked once for
   * a key that is not known, and again in the background.
   */
  readonly lookups?: Lookups
  /**
   * By the names of rules with `onStoreFailure: recount`: asks the source of truth while the store cannot decide. A
   * function counts what was used; `{ take }` decides, and only that holds a limit across replicas then.
   */
  readonly recount?: Recounts
  /** Where `RATE_LIMIT_TIER...` is read from; the process' environment when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /**
   * Tells limiters apart: in reports and, with `limits`, in what they count. `default` when left out: limiters of a
   * service with the same `limits` then share a counter, and others are refused.
   */
  readonly name?: string
  /** Where time comes from, for tests and simulations; a store has its own. The system's time when left out. */
  readonly clock?: Clock
}

/** The names of the options of `createLimiter`, for who checks them before it is loaded. */
export const limiterOptionNames: readonly string[] = optionNames<LimiterOptions>({
  ...{ policy: true, limits: true, service: true, fallbackPolicy: true, redis: true, store: true, deadline: true },
  ...{ breaker: true, replicas: true, denyCache: true, lease: true, functions: true, recount: true, env: true },
  ...{ name: true, clock: true, maxWaiting: true, lookups: true },
})
