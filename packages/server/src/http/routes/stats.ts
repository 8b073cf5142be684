import type { Limiter } from 'sluice'
import { fleetStats } from '../../recent/fleet/fleet.ts'
import { servicesOf, sharedLook } from '../../recent/fleet/fleet-reader.ts'
import type { ApiParts } from '../api-parts.ts'
import { readNumber, readQuery } from '../input/read-query.ts'
import type { Routes } from '../router.ts'
import type { PolicyStatus } from '../shapes/policy.ts'
import type { Services, Stats, StoreStatus } from '../shapes/stats.ts'

const maxTop = 200
/** Over how long hot keys are counted, in milliseconds. */
const hotKeysOverMs = 120_000

/**
 * `GET /v1/stats`: what all processes of the service decided, as they report, and the hottest keys of each rule;
 * `/v1/services`: which services it can be asked for.
 */
export const statsRoute: Routes = ({ read }, parts) => {
  const { limiter, reports, startedAt } = parts
  const lookAt = sharedLook(reports.readers)
  read.get('/v1/stats', async function report(c) {
    const query = readQuery(c, 'top', 'service')
    const top = readNumber('top', query.top, 10, 0, maxTop)
    const service = query.service || limiter.policy.service
    // So that a decision that this daemon has just made is included.
    await reports.sendOwn()
    const look = await lookAt(service)
    return c.json({
      service,
      uptimeSeconds: Math.floor((Date.now() - startedAt.getTime()) / 1000),
      policy: policyStatus(parts),
      store: await storeStatus(limiter),
      hotKeysOverMs,
      complete: look.complete,
      ...fleetStats(look.reports, top, Date.now()),
    } satisfies Stats)
  })

  read.get('/v1/services', async function services(c) {
    readQuery(c)
    const { service } = limiter.policy
    return c.json({ service, ...(await servicesOf(reports.readers, service)) } satisfies Services)
  })
}

/** The policy in force, without anything that could be secret. */
export function policyStatus({ limiter, policySource }: ApiParts): PolicyStatus {
  const { version, ageMs, lastError } = limiter.policy.status
  return { version, ageMs: Math.round(ageMs), source: policySource(), lastError: lastError?.message ?? null }
}

export async function storeStatus(limiter: Limiter): Promise<StoreStatus> {
  const { ready: ok, store, warnings } = await limiter.health()
  const { name, reachable, roundTripMs, breaker } = store
  return { name, ok, reachable, roundTripMs, breaker, warnings }
}
