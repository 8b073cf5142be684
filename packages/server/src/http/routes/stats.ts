import type { Limiter } from 'sluice'
import type { ApiParts } from '../api-parts.ts'
import type { Routes } from '../app.ts'
import { readNumber, readQuery } from '../read-query.ts'

const maxTop = 200

/** `GET /v1/stats`: what was decided since the start and lately, and the hottest keys of each rule. */
export const statsRoute: Routes = (app, parts) => {
  const { limiter, stats, startedAt } = parts
  app.get('/v1/stats', async function report(c) {
    const top = readNumber('top', readQuery(c, 'top').top, 10, 0, maxTop)
    return c.json({
      service: limiter.policy.service,
      uptimeSeconds: Math.floor((Date.now() - startedAt.getTime()) / 1000),
      policy: policyStatus(parts),
      store: await storeStatus(limiter),
      decisions: stats.total,
      recent: stats.recent(),
      hotKeysOverMs: stats.hotKeysOverMs,
      rules: stats.rules(top),
    })
  })
}

/** The policy in force, without anything that could be secret. */
export function policyStatus({ limiter, policySource }: ApiParts): Record<string, unknown> {
  const { version, ageMs, lastError } = limiter.policy.status
  return { version, ageMs: Math.round(ageMs), source: policySource(), lastError: lastError?.message ?? null }
}

async function storeStatus(limiter: Limiter): Promise<Record<string, unknown>> {
  const { ok, store, warnings } = await limiter.health()
  const { name, reachable, roundTripMs, breaker } = store
  return { name, ok, reachable, roundTripMs, breaker, warnings }
}
