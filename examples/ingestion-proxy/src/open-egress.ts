import { createEgress, type Egress } from 'sluice/egress'
import type { RedisHandle } from 'sluice/redis'
import type { ProxySettings } from './settings.ts'

/** Calls to the vendor within its limit: over all replicas with a Redis, in this process without. */
export function openEgress(settings: ProxySettings, redis?: RedisHandle): Promise<Egress> {
  const { endpoint, perSecond, maxWaitMs, timeoutMs, arrival, onRedisFailure } = settings
  return createEgress({
    policy: {
      service: 'ingestion-proxy',
      upstreams: [
        {
          name: 'nivoda',
          origin: new URL(endpoint).origin,
          limits: { rps: perSecond },
          maxWait: maxWaitMs,
          timeout: timeoutMs,
          arrival,
          onStoreFailure: onRedisFailure,
        },
      ],
    },
    ...(redis && { redis }),
  })
}
