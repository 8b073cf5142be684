import type { Clock } from '../core/clock.ts'
import { Emitter } from '../core/observe/emitter.ts'
import { UsedPolicy } from '../policy/live/live-policy.ts'
import type { PolicyInput } from '../policy/live/open-policy.ts'
import { reportPart } from '../redis/report-part.ts'
import { openFallback } from '../stores/fallback/open-fallback.ts'
import { isMemoryStore, type MemoryStore, memoryStore } from '../stores/memory/memory-store.ts'
import { storeOf } from '../stores/store-of.ts'
import { type LimiterEvents, limiterEventNames } from './events.ts'
import type { Limiter } from './limiter.ts'
import type { LimiterOptions } from './limiter-options.ts'
import { limitsPolicy, shareLimits } from './limits-policy.ts'
import { useNativeSha256 } from './native-sha256.ts'
import { resolveOptions } from './options.ts'
import { PolicyLimiter } from './policy-limiter.ts'
import type { StoreLayers } from './store-layers.ts'

/**
 * Makes a limiter from a policy and a store.
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

async function makeLimiter(options: LimiterOptions): Promise<Limiter> {
  const resolved = resolveOptions(options)
  const { clock, deadlineMs, maxWaiting } = resolved
  const store =
    options.store ?? (options.redis ? storeOf(options.redis, 'createLimiter.redis') : memoryStore({ clock }))
  useNativeSha256()
  const events = new Emitter<LimiterEvents>(limiterEventNames)
  const { name = 'default', service = options.redis?.service ?? 'default', recount: recounts = {} } = options
  const policy = await policyOf(options, clock, service, name)
  const { live } = policy
  const plain = options.limits && live.current.rules[0]!.limitsFor('', undefined, 0)
  // The policy of limits follows nothing that would have to be closed if this throws.
  const endSharing = plain && shareLimits(store, service, name, plain.limits)
  policy.on('loaded', (event) => events.emit('policyLoaded', event))
  policy.on('rejected', (event) => events.emit('policyRejected', event))
  const release = store.use?.()
  // What limits in memory do not use, as at the edge, is loaded by those that do.
  const isSimple = plain && !options.recount && isMemoryStore(store)
  const layers = isSimple
    ? memoryLayers(store, clock)
    : await (await import('./store-layers.ts')).storeLayers(store, () => live.current, recounts, resolved, events)
  // A clock of tests may be moved on before something is loaded.
  const isFurther = !isSimple || options.clock || plain.needsHold
  const further = isFurther ? (await import('./further-calls.ts')).FurtherCalls : undefined
  const { inProcess = false, line } = store.abilities ?? {}
  const parts = { ...layers, policy, recounts, events, deadlineMs, inProcess, line, maxWaiting, clock }
  const beforeClose = async (): Promise<void> => {
    endSharing?.()
    await endReport()
    await layers.close()
  }
  const afterClose = async (): Promise<void> => {
    await release?.()
    // A store that was given is closed by its creator, that of a handle with the handle.
    if (options.store === undefined && options.redis === undefined) await store.close()
  }
  const limiter = new PolicyLimiter({ ...parts, beforeClose, afterClose }, further)
  const endReport = reportPart(options.redis, {
    kind: 'limiter',
    name,
    service: live.current.service,
    stats: () => limiter.stats(),
  })
  return limiter
}

/** Limits in memory are never without their store. */
function memoryLayers(store: MemoryStore, clock: Clock): StoreLayers {
  const only = openFallback(store, clock)
  return { store: only, fallback: only, failingSources: () => [], losses: undefined, close: async () => {} }
}

/** The names of the rules of a policy that is written in code; any text where it comes from a source. */
export type RuleNameOf<Policy> = Policy extends {
  readonly rules: readonly { readonly name: infer Name extends string }[]
}
  ? Name
  : string

/** The policy that the options ask for; limits alone are a policy of one rule. */
async function policyOf(options: LimiterOptions, clock: Clock, service: string, name: string): Promise<UsedPolicy> {
  const { policy, limits, functions, lookups, env, fallbackPolicy } = options
  const own = { functions, lookups, env, fallbackPolicy, clock }
  if (limits === undefined)
    return (await import('../policy/live/open-policy.ts')).usePolicy('createLimiter', policy!, own, {})
  return new UsedPolicy(await limitsPolicy(limits, service, name, own), true)
}
