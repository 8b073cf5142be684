import type { Clock } from '../core/clock.ts'
import { Emitter } from '../core/observe/emitter.ts'
import { type PolicyInput, UsedPolicy, usePolicy } from '../policy/live/use-policy.ts'
import { reportPart } from '../redis/report-part.ts'
import { fallback } from '../stores/fallback/fallback.ts'
import { Replicas } from '../stores/fallback/replicas.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Store } from '../stores/store.ts'
import { storeOf } from '../stores/store-of.ts'
import { type LimiterEvents, limiterEventNames } from './events.ts'
import type { Limiter } from './limiter.ts'
import type { LimiterOptions } from './limiter-options.ts'
import { limitsPolicy } from './limits-policy.ts'
import { useNativeSha256 } from './native-sha256.ts'
import { resolveOptions } from './options.ts'
import { PolicyLimiter } from './policy-limiter.ts'
import { shareLimits } from './shared-limits.ts'

/**
 * Makes a limiter from a policy and a store.
 *
 *     limiter -> local answers (deny-cache, leases) -> fallback (deadline, breaker, onStoreFailure) -> store
 *     limiter -> fallback -> store, when the store is in process
 *
 * With functions that recount, `recounting` stands before the fallback.
 *
 * @example
 * const limiter = await createLimiter({ limits: { rpm: 100 } })
 * const decision = await limiter.take('user:1')
 */
export async function createLimiter<const Policy extends PolicyInput>(
  options: LimiterOptions<Policy>,
): Promise<Limiter<RuleNameOf<Policy>>> {
  // The names are known to the compiler only.
  return (await makeLimiter(options)) as Limiter<RuleNameOf<Policy>>
}

// What a limiter in memory does not use, as at the edge, is loaded by those that do.
const importRecount = () => import('../stores/recount/recounting.ts')
const importLocalAnswers = () => import('../stores/local-answers/local-answers.ts')
const importLossCheck = () => import('./loss-check.ts')
const importWarnings = () => import('./warn-of-outages.ts')

async function makeLimiter(options: LimiterOptions): Promise<Limiter> {
  const resolved = resolveOptions(options)
  const { clock } = resolved
  const store =
    options.store ?? (options.redis ? storeOf(options.redis, 'createLimiter.redis') : memoryStore({ clock }))
  useNativeSha256()
  const events = new Emitter<LimiterEvents>(limiterEventNames)
  const policy = await policyOf(options, clock)
  const { live } = policy
  const endSharing = await shareIn(store, options, policy)
  policy.on('loaded', (event) => events.emit('policyLoaded', event))
  policy.on('rejected', (event) => events.emit('policyRejected', event))
  const release = store.use?.()
  const isInProcess = store.abilities?.inProcess === true
  const replicas = new Replicas(store, live.current.service, isInProcess ? '' : crypto.randomUUID(), clock)
  const replicaCount = (): number => resolved.replicas ?? (isInProcess ? 1 : replicas.count)
  const onOutage = isInProcess
    ? undefined
    : (await importWarnings()).warnOfOutages(events, live.current.service, () => live.current.rules)
  const withFallback = fallback(store, { ...resolved.breaker, replicas: replicaCount, clock, onOutage })
  const recounts = options.recount ?? {}
  const withRecount =
    Object.keys(recounts).length === 0
      ? undefined
      : (await importRecount()).recounting(withFallback, store, { recounts, replicas: replicaCount, clock })
  const decider = withRecount ?? withFallback
  // In process there is nothing to save by answering before the store.
  const outermost = isInProcess ? decider : (await importLocalAnswers()).localAnswers(decider, resolved)
  if (resolved.replicas === undefined && !isInProcess) {
    // Every replica sends its heartbeat, as a later version may be the first with a local rule. Only such a rule, or
    // one that is recounted, needs to know their number from the start.
    const started = replicas.start(resolved.deadlineMs)
    const { rules } = live.current
    if (rules.some(({ onStoreFailure }) => onStoreFailure === 'local' || onStoreFailure === 'recount')) await started
  }
  const { line, lossMark } = store.abilities ?? {}
  const limiter = new PolicyLimiter({
    policy,
    store: outermost,
    fallback: withFallback,
    recounts,
    failingSources: () => withRecount?.failingSources() ?? [],
    events,
    deadlineMs: resolved.deadlineMs,
    inProcess: isInProcess,
    line,
    losses: lossMark && new (await importLossCheck()).LossCheck(lossMark, resolved.deadlineMs, clock),
    maxWaiting: resolved.maxWaiting,
    clock,
    beforeClose: async () => {
      endSharing()
      await endReport()
      await replicas.close(resolved.deadlineMs)
    },
    afterClose: async () => {
      await release?.()
      // A store that was given is closed by its creator, that of a handle with the handle.
      if (options.store === undefined && options.redis === undefined) await store.close()
    },
  })
  const endReport = reportPart(options.redis, {
    kind: 'limiter',
    name: nameOf(options),
    service: live.current.service,
    stats: () => limiter.stats(),
  })
  // What is reported is counted from the start.
  if (options.redis !== undefined) limiter.stats()
  return limiter
}

/** The names of the rules of a policy that is written in code; any text where it comes from a source. */
export type RuleNameOf<Policy> = Policy extends {
  readonly rules: readonly { readonly name: infer Name extends string }[]
}
  ? Name
  : string

/** The policy that the options ask for; limits alone are a policy of one rule. */
async function policyOf(options: LimiterOptions, clock: Clock): Promise<UsedPolicy> {
  const { policy, limits, functions, lookups, env, fallbackPolicy } = options
  const own = { functions, lookups, env, fallbackPolicy, clock }
  if (limits === undefined) return usePolicy('createLimiter', policy!, own, {})
  return new UsedPolicy(await limitsPolicy(limits, serviceOf(options), nameOf(options), own), true)
}

const serviceOf = ({ service, redis }: LimiterOptions): string => service ?? redis?.service ?? 'default'
const nameOf = ({ name }: LimiterOptions): string => name ?? 'default'

async function shareIn(store: Store, options: LimiterOptions, policy: UsedPolicy): Promise<() => void> {
  if (options.limits === undefined) return () => {}
  const { limits } = policy.live.current.rules[0]!.limitsFor('', undefined, 0)
  try {
    return shareLimits(store, serviceOf(options), nameOf(options), limits)
  } catch (error) {
    await policy.close()
    throw error
  }
}
