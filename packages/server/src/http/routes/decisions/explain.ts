import type { Context } from 'hono'
import type { Decision, Explanation, Key } from 'sluice'
import { checkKey, whyNoRequestHas } from '../../../policy/check-key.ts'
import { keyOrigin, keyShapes } from '../../../policy/key-shapes.ts'
import type { NodeEnv } from '../../access.ts'
import type { ApiParts } from '../../api-parts.ts'
import { explanationJson } from '../../decision-json.ts'
import { checkInput } from '../../inputs.ts'
import { HttpProblem } from '../../problem.ts'
import { readBody } from '../../read-body.ts'
import { readQuery } from '../../read-query.ts'
import type { Routes } from '../../router.ts'
import { Explain } from '../../shapes/decisions.ts'

/** `POST /v1/explain`: which rules apply to a request or a key, why, and how they stand, without spending. */
export const explainRoute: Routes = ({ admin }, parts) => {
  admin.post('/v1/explain', async function explain(c) {
    readQuery(c)
    return c.json(explanationJson(await explained(c, parts)))
  })
}

async function explained(c: Context<NodeEnv>, parts: ApiParts): Promise<Explanation> {
  const input = checkInput(await readBody(c, Explain))
  return 'request' in input ? parts.limiter.explain(input.request) : explainKey(parts, input.key, input.rule)
}

/** The usage of a key under each rule whose keys look like it, or under the named one. */
async function explainKey({ limiter, policy }: ApiParts, key: Key, only: string | undefined): Promise<Explanation> {
  const { service, rules, status } = limiter.policy
  if (only !== undefined && !rules.includes(only))
    throw new HttpProblem(404, `There is no rule ${JSON.stringify(only)}.`)
  if (only !== undefined) checkKey(policy.current, key, only)
  const shapes = keyShapes(policy.document?.parsed)
  const told = await Promise.all(
    (only === undefined ? rules : [only]).map(async (rule) => {
      const mode = shapes.get(rule)?.mode ?? 'enforce'
      const nothing = { rule, mode, tier: undefined, cost: undefined }
      if (whyNoRequestHas(policy.current, key, rule) !== undefined)
        return { ...nothing, matched: false, why: keyOrigin(shapes.get(rule)), key: undefined, limits: [] }
      const [inspection, decision] = await Promise.all([limiter.inspect(key, { rule }), limiter.peek(key, { rule })])
      const { limits } = inspection
      return { ...nothing, matched: true, why: keyOrigin(shapes.get(rule)), key: inspection.key, limits, decision }
    }),
  )
  const decisions = told.flatMap(({ mode, ...rule }) =>
    'decision' in rule && rule.decision !== undefined && mode === 'enforce' ? [rule.decision] : [],
  )
  return {
    service,
    policyVersion: status.version,
    rules: told.map(({ rule, mode, matched, why, key: found, tier, cost, limits }) => ({
      rule,
      mode,
      matched,
      why,
      key: found,
      tier,
      cost,
      limits,
    })),
    decision: strictest(decisions) ?? nothingApplies(status.version),
  }
}

/** Of several decisions the one that denies for longest, else the first. */
function strictest(decisions: readonly Decision[]): Decision | undefined {
  return [...decisions].sort((a, b) => Number(a.allowed) - Number(b.allowed) || b.retryAfterMs - a.retryAfterMs)[0]
}

function nothingApplies(policyVersion: string): Decision {
  return {
    allowed: true,
    reason: 'allowed',
    rule: undefined,
    limits: [],
    retryAfterMs: 0,
    by: 'policy',
    degraded: false,
    failure: undefined,
    shadow: [],
    policyVersion,
  }
}
