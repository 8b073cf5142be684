import { checkOptionNames, checkWhole } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { insideOf } from '../redis/use-redis.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { Recounts } from '../stores/recount/recount.ts'
import { type LimiterOptions, limiterOptionNames } from './limiter-options.ts'

export interface ResolvedOptions {
  readonly deadlineMs: number
  readonly breaker: { readonly failures: number; readonly cooldownMs: number }
  readonly replicas: number | undefined
  readonly denyCache: { readonly maxMs: number; readonly maxSubjects: number } | undefined
  readonly lease: { readonly aheadMs: number; readonly maxUnits: number }
  readonly maxWaiting: number
  readonly clock: Clock
}

const nestedNames = {
  breaker: ['failures', 'cooldown'],
  denyCache: ['maxAge', 'maxSubjects'],
  lease: ['ahead', 'maxUnits'],
}

/** Checks the options and fills in the defaults, once. */
export function resolveOptions(options: LimiterOptions): ResolvedOptions {
  checkOptionNames('createLimiter', options, limiterOptionNames)
  checkPolicy(options)
  if (options.store !== undefined && typeof options.store?.decide !== 'function') {
    throw invalidOption(
      'createLimiter.store',
      options.store,
      'pass memoryStore(), await postgresStore(pool), or redis: openRedis(client)',
    )
  }
  if (options.redis !== undefined) insideOf(options.redis, 'createLimiter.redis')
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
    maxWaiting: whole('maxWaiting', options.maxWaiting ?? 1000, 'waits'),
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

/** Checks the `recount` option; throws at the first mistake. */
function checkRecounts(recounts: Recounts | undefined): void {
  for (const [rule, recount] of Object.entries(recounts ?? {})) {
    const option = `createLimiter.recount.${rule}`
    if (typeof recount === 'function') continue
    if (typeof recount?.take !== 'function')
      throw invalidOption(option, recount, 'pass a function that counts, or { take } that decides')
    checkOptionNames(option, recount, ['take', 'count', 'concurrency'])
    if (recount.count !== undefined && typeof recount.count !== 'function')
      throw invalidOption(`${option}.count`, recount.count, 'pass a function that counts')
    if (recount.concurrency !== undefined) checkWhole(`${option}.concurrency`, recount.concurrency, 1, 'calls')
  }
}
