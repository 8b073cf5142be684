import type { Emitter } from '../core/observe/emitter.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import { fallback } from '../stores/fallback/fallback.ts'
import { Replicas } from '../stores/fallback/replicas.ts'
import type { Recounts } from '../stores/recount/recount.ts'
import type { Store } from '../stores/store.ts'
import type { LimiterEvents } from './events.ts'
import type { LimiterParts } from './limiter-parts.ts'
import { LossCheck } from './loss-check.ts'
import type { ResolvedOptions } from './options.ts'
import { warnOfOutages } from './warn-of-outages.ts'

const importRecount = () => import('../stores/recount/recounting.ts')
const importLocalAnswers = () => import('../stores/local-answers/local-answers.ts')

/** What stands between a limiter and its store. */
export interface StoreLayers extends Pick<LimiterParts, 'store' | 'fallback' | 'failingSources' | 'losses'> {
  close(): Promise<void>
}

/**
 * Puts the layers before a store that may be away:
 *
 *     limiter -> local answers (deny-cache, leases) -> fallback (deadline, breaker, onStoreFailure) -> store
 *     limiter -> fallback -> store, when the store is in process
 *
 * With functions that recount, `recounting` stands before the fallback.
 */
export async function storeLayers(
  store: Store,
  policy: () => CompiledPolicy,
  recounts: Recounts,
  options: ResolvedOptions,
  events: Emitter<LimiterEvents>,
): Promise<StoreLayers> {
  const { clock, deadlineMs } = options
  const { service } = policy()
  const { inProcess, lossMark } = store.abilities ?? {}
  const replicas = new Replicas(store, service, inProcess ? '' : crypto.randomUUID(), clock)
  const replicaCount = (): number => options.replicas ?? (inProcess ? 1 : replicas.count)
  const onOutage = inProcess ? undefined : warnOfOutages(events, service, () => policy().rules)
  const withFallback = fallback(store, { ...options.breaker, replicas: replicaCount, clock, onOutage })
  const withRecount =
    Object.keys(recounts).length === 0
      ? undefined
      : (await importRecount()).recounting(withFallback, store, { recounts, replicas: replicaCount, clock })
  const decider = withRecount ?? withFallback
  // In process there is nothing to save by answering before the store.
  const outermost = inProcess ? decider : (await importLocalAnswers()).localAnswers(decider, options)
  if (options.replicas === undefined && !inProcess) {
    // Every replica sends its heartbeat, as a later version may be the first with a local rule. Only such a rule, or
    // one that is recounted, needs to know their number from the start.
    const started = replicas.start(deadlineMs)
    const { rules } = policy()
    if (rules.some(({ onStoreFailure }) => onStoreFailure === 'local' || onStoreFailure === 'recount')) await started
  }
  return {
    store: outermost,
    fallback: withFallback,
    failingSources: () => withRecount?.failingSources() ?? [],
    losses: lossMark && new LossCheck(lossMark, deadlineMs, clock),
    close: () => replicas.close(deadlineMs),
  }
}
