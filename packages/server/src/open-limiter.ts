import { createLimiter, type Limiter, memoryStore, type PolicyDocument } from 'sluice'
import { type LivePolicy, openPolicy, type PolicyArchive } from 'sluice/policy'
import { type Store, storeOf } from 'sluice/store'
import type { ServerConfig } from './config/config.ts'
import { openShared, type SharedRedis } from './connections/open-shared.ts'
import { type LookupFunctions, openLookups } from './lookups.ts'
import type { Opened } from './opened.ts'
import { examplePolicy } from './policy/place/example-policy.ts'
import { archiveOf, openSource } from './policy/place/open-source.ts'
import { documentOf } from './policy/rule-changes.ts'

/** With the handle of the store and its client; they are undefined when counters are in memory. */
export interface OpenLimiter extends Partial<SharedRedis> {
  readonly limiter: Limiter
  readonly store: Store
  /** Undefined when the policy's source cannot be written to. */
  readonly archive: PolicyArchive | undefined
  /** What the limiter and the proxy share. It has no document while the built-in example stands in for it. */
  readonly policy: LivePolicy
  /** What knows tiers by key; undefined without any. */
  readonly lookups: LookupFunctions | undefined
  /** Whether the built-in example stands in for a policy that could not be read. */
  isExampleInstead(): boolean
  /** What is in force, for people; also says when the built-in example stands in. */
  policySource(): string
}

/** Opens the policy and the store of a configuration and makes a limiter of them. */
export async function openLimiter(config: ServerConfig, opened: Opened): Promise<OpenLimiter> {
  const { source, close } = await openSource(config.policy)
  opened.push(close)
  // The daemon reports itself, with all its limiters together.
  const shared = await openShared(config.redis, { prefix: config.redisPrefix, reports: false }, opened)
  const redis = shared?.redis
  const store = redis === undefined ? memoryStore() : storeOf(redis)
  opened.push(() => store.close())
  const lookups = await openLookups(config.lookups, opened)
  const policy = await openPolicy(source, {
    env: config.env,
    ...(lookups === undefined ? {} : { lookups }),
    ...(config.policy.optional ? { fallbackPolicy: exampleFor(config.policy) } : {}),
  })
  opened.push(() => policy.close())
  const limiter = await createLimiter({
    policy,
    store,
    deadline: config.deadlineMs,
    ...(config.replicas === undefined ? {} : { replicas: config.replicas }),
  })
  opened.push(() => limiter.close())
  const isExample = (): boolean => policy.document === undefined
  const archive = archiveOf(source)
  const place = (): string => policy.status.source
  return {
    limiter,
    store,
    ...shared,
    archive,
    policy,
    lookups,
    isExampleInstead: isExample,
    policySource: () => (isExample() ? `the built-in example, as ${place()} could not be read` : place()),
  }
}

/**
 * The example, under the name of the service that the database was asked for: another name would be another service's
 * counters.
 */
function exampleFor(place: ServerConfig['policy']): PolicyDocument {
  const example = documentOf(examplePolicy) as PolicyDocument
  return 'service' in place ? { ...example, service: place.service } : example
}
