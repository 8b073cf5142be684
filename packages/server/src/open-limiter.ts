import type { Cluster, Redis } from 'ioredis'
import { createLimiter, type Limiter, memoryStore, type PolicyDocument } from 'sluice'
import { type LivePolicy, openPolicy, type PolicyArchive } from 'sluice/policy'
import { openRedis, type RedisHandle } from 'sluice/redis'
import { type Store, storeOf } from 'sluice/store'
import type { ServerConfig } from './config/config.ts'
import { type LookupFunctions, openLookups } from './lookups.ts'
import { examplePolicy } from './policy/place/example-policy.ts'
import { archiveOf, openSource } from './policy/place/open-source.ts'
import { documentOf } from './policy/rule-changes.ts'

/** What was opened, to be closed in reverse. */
export type Opened = (() => unknown)[]

export interface OpenLimiter {
  readonly limiter: Limiter
  readonly store: Store
  /** The handle of the store, and its client; undefined when counters are in memory. */
  readonly redis: RedisHandle | undefined
  readonly client: Redis | Cluster | undefined
  readonly archive: PolicyArchive | undefined
  /** What the limiter and the proxy share. It has no document while the built-in example stands in for it. */
  readonly policy: LivePolicy
  /** What knows tiers by key; undefined without any. */
  readonly lookups: LookupFunctions | undefined
  /** Whether the built-in example stands in for a policy that could not be read. */
  isExampleInstead(): boolean
  /** What is in force, for people. */
  policySource(): string
}

/** Opens the policy and the store of a configuration and makes a limiter of them. */
export async function openLimiter(config: ServerConfig, opened: Opened): Promise<OpenLimiter> {
  const { source, close } = await openSource(config.policy)
  opened.push(close)
  const client = await openClient(config, opened)
  // The daemon reports itself, with all its limiters together.
  const redis = client && openRedis(client, { prefix: config.redisPrefix, reports: false })
  if (redis) opened.push(() => redis.close())
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
    redis,
    client,
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

/** Closes in reverse what was opened. */
export async function closeAll(opened: Opened): Promise<void> {
  for (const close of opened.splice(0).reverse()) await close()
}

/** The driver is many modules; without Redis it is not loaded. */
async function openClient({ redis }: ServerConfig, opened: Opened): Promise<Redis | Cluster | undefined> {
  if (redis === undefined) return undefined
  const { redisClient } = await import('./connections/redis-client.ts')
  const client = redisClient(redis)
  opened.push(() => client.disconnect())
  return client
}
