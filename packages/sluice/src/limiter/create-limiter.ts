import { randomUUID } from 'node:crypto'
import { compilePolicy } from '../policy/compile-policy.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { PolicyDocument } from '../policy/document.ts'
import { livePolicy } from '../policy/live-policy.ts'
import type { PolicySource } from '../policy/source.ts'
import { staticPolicy } from '../policy/sources/static.ts'
import { front } from '../stores/front.ts'
import { guard } from '../stores/guard.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { Replicas } from '../stores/replicas.ts'
import { Emitter } from './emitter.ts'
import type { Limiter } from './limiter.ts'
import { type LimiterOptions, resolveOptions } from './options.ts'
import { PolicyLimiter } from './policy-limiter.ts'

/**
 * Makes a limiter from a policy and a store.
 *
 *     limiter -> front (deny-cache, leases) -> guard (deadline, breaker, onStoreFailure) -> store
 *     limiter -> guard -> store, when the store is in process
 *
 * @example
 * const limiter = await createLimiter({ policy: { service: 'api', rules: [{ name: 'per-user', limits: { rpm: 100 } }] } })
 * const decision = await limiter.take('user:1')
 */
export async function createLimiter(options: LimiterOptions): Promise<Limiter> {
  const resolved = resolveOptions(options)
  const events = new Emitter()
  const source = isSource(options.policy) ? options.policy : staticPolicy(options.policy)
  let countReplicas: ((policy: CompiledPolicy) => Promise<void>) | undefined
  const live = await livePolicy({
    source,
    compile: (document) => compilePolicy(document, { env: options.env ?? process.env }),
    ...(options.fallbackPolicy === undefined ? {} : { fallback: options.fallbackPolicy }),
    onLoaded: (policy) => {
      events.emit('policyLoaded', { version: policy.version, source: source.description })
      void countReplicas?.(policy)
    },
    onRejected: (error) => events.emit('policyRejected', { source: source.description, error }),
  })
  const store = options.store ?? memoryStore()
  const replicas = new Replicas(store, live.current.service, randomUUID())
  const guarded = guard(store, { ...resolved.breaker, replicas: () => resolved.replicas ?? replicas.count })
  // In process there is nothing to save by answering before the store.
  const outermost = store.inProcess ? guarded : front(guarded, resolved)
  // A later version may be the first with a local rule.
  countReplicas = async ({ rules }) => {
    const isNeeded = resolved.replicas === undefined && !store.inProcess
    if (isNeeded && rules.some((rule) => rule.onStoreFailure === 'local')) await replicas.start(resolved.deadlineMs)
  }
  await countReplicas(live.current)
  return new PolicyLimiter({
    live,
    store: outermost,
    guard: guarded,
    events,
    deadlineMs: resolved.deadlineMs,
    beforeClose: () => replicas.close(resolved.deadlineMs),
  })
}

function isSource(policy: PolicyDocument | PolicySource): policy is PolicySource {
  return typeof (policy as Partial<PolicySource>).start === 'function'
}
