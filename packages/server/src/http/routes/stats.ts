import type { Limiter } from 'sluice'
import type { Routes } from '../app.ts'
import { HttpProblem } from '../problem.ts'

const maxTop = 200

/** `GET /v1/stats`: what was decided since the start and lately, and the hottest keys of each rule. */
export const statsRoute: Routes = (app, { limiter, stats, startedAt }) => {
  app.get('/v1/stats', async function report(c) {
    const top = Number(c.req.query('top') ?? 10)
    if (!Number.isInteger(top) || top < 0 || top > maxTop)
      throw new HttpProblem(400, `top must be a whole number from 0 to ${maxTop}.`)
    return c.json({
      service: limiter.policy.service,
      uptimeSeconds: Math.floor((Date.now() - startedAt.getTime()) / 1000),
      policy: policyStatus(limiter),
      store: await storeStatus(limiter),
      decisions: stats.total,
      recent: stats.recent(),
      hotKeysOverMs: stats.hotKeysOverMs,
      rules: stats.rules(top),
    })
  })
}

/** The policy in force, without anything that could be secret. */
export function policyStatus(limiter: Limiter): Record<string, unknown> {
  const { version, ageMs, source, lastError } = limiter.policy.status
  return { version, ageMs: Math.round(ageMs), source, lastError: lastError?.message ?? null }
}

async function storeStatus(limiter: Limiter): Promise<Record<string, unknown>> {
  const { ok, store, warnings } = await limiter.health()
  const { name, reachable, roundTripMs, breaker } = store
  return { name, ok, reachable, roundTripMs, breaker, warnings }
}
