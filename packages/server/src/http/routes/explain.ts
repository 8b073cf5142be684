import type { Routes } from '../app.ts'
import { decisionJson } from '../decision-json.ts'
import { readRequest } from '../inputs.ts'
import { readJson } from '../read-body.ts'
import { readQuery } from '../read-query.ts'

/** `POST /v1/explain`: which rules apply to a request and why, without spending. */
export const explainRoute: Routes = (app, { limiter }) => {
  app.post('/v1/explain', async function explain(c) {
    readQuery(c)
    const { request } = await readJson(c, 'request')
    const { service, policyVersion, rules, decision } = await limiter.explain(readRequest(request))
    return c.json({
      service,
      policyVersion,
      rules: rules.map(({ key, tier, cost, ...rest }) => ({
        ...rest,
        key: key ?? null,
        tier: tier ?? null,
        cost: cost ?? null,
      })),
      decision: decisionJson(decision),
    })
  })
}
