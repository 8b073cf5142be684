import type { Logger } from 'pino'
import type { Limiter } from 'sluice'
import { StoreError } from 'sluice/store'
import type { ServerConfig } from './config/config.ts'
import { isAuthFailure, tryRedis } from './config/try-redis.ts'
import type { OpenLimiter } from './open-limiter.ts'

const probeMs = 2000
const lookEveryMs = 10_000
/** Every so many looks. */
const remindEvery = 6
/** Fewer characters than this can be found by trying, as a right token is always let in. */
const shortToken = 16

/**
 * Tries Redis once before anything listens. Wrong credentials are no outage: a rollout with a wrong secret must not
 * turn green while nothing is limited. Whether an outage is only reported is for the configuration to say.
 */
export async function checkRedis({
  redis,
  withoutRedis,
}: Pick<ServerConfig, 'redis' | 'withoutRedis'>): Promise<string | undefined> {
  if (redis === undefined) return undefined
  const { redisClient } = await import('./connections/redis-client.ts')
  const client = redisClient(redis)
  try {
    await tryRedis(client, probeMs)
    return undefined
  } catch (error) {
    const cause = error as Error
    if (withoutRedis === 'end' || isAuthFailure(cause))
      throw new StoreError(isAuthFailure(cause) ? 'auth' : 'connection', `Redis cannot be used: ${cause.message}`, {
        cause,
      })
    return `Redis cannot be reached, so rules and upstreams do what their onStoreFailure says: ${cause.message}`
  } finally {
    client.disconnect()
  }
}

/** Warnings for the operator at start. */
export function startWarnings(
  config: ServerConfig,
  { limiter, isExampleInstead }: OpenLimiter,
  others: readonly (string | undefined)[],
): readonly string[] {
  const { lastError } = limiter.policy.status
  const isOpen = !isLoopback(config.host)
  return [
    ...config.warnings,
    ...others,
    isExampleInstead()
      ? `The built-in example is in force, as no policy could be read: ${lastError?.message}`
      : undefined,
    config.grpcPort !== undefined && config.grpcShadow
      ? 'The Envoy rate-limit service denies nothing, as --grpc-shadow is on; it only counts.'
      : undefined,
    config.decideTokens !== undefined && config.grpcPort !== undefined && !isLoopback(config.grpcHost)
      ? 'The token for deciding does not hold for the Envoy rate-limit service; let only your proxies reach its port.'
      : undefined,
    isOpen && (config.adminTokens?.current ?? []).some(({ token }) => token.length < shortToken)
      ? 'An admin token is short enough to be guessed over a network; use a longer one: openssl rand -hex 32.'
      : undefined,
    isOpen && config.decideTokens === undefined
      ? 'Everybody who can reach this address may ask for decisions and so spend quotas; SLUICE_DECIDE_TOKEN restricts it.'
      : undefined,
  ].filter((warning) => warning !== undefined)
}

function isLoopback(host: string): boolean {
  return /^(127\.|::1$|localhost$)/.test(host)
}

/** Looks whether the store answers, also while no decisions are asked for, and logs once a minute that it does not. */
export function watchStore(limiter: Limiter, log: Logger, tell: (isUp: boolean) => void): () => void {
  let looks = 0
  const look = async (): Promise<void> => {
    const { ready, store, warnings } = await limiter.health()
    tell(ready)
    if (!ready && looks++ % remindEvery === remindEvery - 1)
      log.warn({ store: store.name, breaker: store.breaker, warnings }, 'decisions are made without the store')
  }
  void look()
  const timer = setInterval(look, lookEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}
