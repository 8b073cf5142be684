import type { Context } from 'hono'
import type { Decision } from 'sluice'
import { optionsOf } from '../../../options-of.ts'
import { certain, type Explained, explainRequest } from '../../../policy/explain-request.ts'
import { checkKey, whyNoRequestHas } from '../../../policy/overrides/check-key.ts'
import { keyOrigin, keyShapes } from '../../../policy/overrides/key-shapes.ts'
import type { AskedKey } from '../../../recent/replay/request-ring.ts'
import { Explain } from '../../../shapes/decisions.ts'
import type { NodeEnv } from '../../access/access.ts'
import type { ApiParts } from '../../api-parts.ts'
import { explanationJson } from '../../decision-json.ts'
import { checkInput } from '../../input/inputs.ts'
import { readBody } from '../../input/read-body.ts'
import { HttpProblem } from '../../problem.ts'
import type { Routes } from '../../router.ts'

/** `POST /v1/explain`: which rules apply to a request or a key, why, and how they stand, without spending. */
export const explainRoute: Routes = ({ read }, parts) => {
  read.post('/v1/explain', async function explain(c) {
    return c.json(explanationJson(await explained(c, parts)))
  })
}

async function explained(c: Context<NodeEnv>, parts: ApiParts): Promise<Explained> {
  const input = checkInput(await readBody(c, Explain))
  return 'request' in input ? explainRequest(parts.limiter, parts.policy, input.request) : explainKey(parts, input)
}

/** The usage of a key under each rule whose keys look like it, or under the named one. */
async function explainKey(
  { limiter, policy }: ApiParts,
  { key, rule: only, tier, class: of }: AskedKey,
): Promise<Explained> {
  const { service, rules, status } = limiter.policy
  if (only !== undefined && !rules.includes(only))
    throw new HttpProblem(404, `There is no rule ${JSON.stringify(only)}.`)
  if (only !== undefined) checkKey(policy.current, key, only)
  const shapes = keyShapes(policy.document?.parsed)
  const asked = (only === undefined ? rules : [only]).map((rule) => ({
    rule,
    isMet: whyNoRequestHas(policy.current, key, rule) === undefined,
    tiers: policy.current.rule(rule)?.tiers,
  }))
  // Of several rules each may have its own tiers. A name that none of them has is a mistake.
  const met = asked.filter(({ isMet, tiers }) => isMet && tiers)
  const isKnown = met.some(({ tiers }) => tiers!.has(tier!))
  const told = await Promise.all(
    asked.map(async ({ rule, isMet, tiers }) => {
      const own = (isKnown ? tiers?.has(tier!) : tiers || met.length === 0) ? tier : undefined
      const mode = shapes.get(rule)?.mode ?? 'enforce'
      const from = keyOrigin(shapes.get(rule))
      const nothing = {
        rule,
        mode,
        tier: own,
        cost: undefined,
        fixed: undefined,
        tierUnknown: false,
        decision: undefined,
      }
      if (!isMet) return { ...nothing, matched: false, why: from, key: undefined, limits: [] }
      const [inspection, decision] = await Promise.all([
        limiter.inspect(key, optionsOf({ rule, tier: own })),
        limiter.peek(key, optionsOf({ rule, tier: own, class: of })),
      ])
      const { key: readable, limits, fixed, tierUnknown } = inspection
      const why = tierUnknown ? `${from}; its tier is not known here: give tier` : from
      return { ...nothing, matched: true, why, key: readable, limits, fixed, tierUnknown, decision }
    }),
  )
  const known = told.filter(({ mode, tierUnknown }) => mode === 'enforce' && !tierUnknown)
  const decisions = known.flatMap(({ decision }) => decision ?? [])
  return {
    service,
    policyVersion: status.version,
    rules: told.map(({ decision: _, ...rule }) => rule),
    decision: certain(strictest(decisions) ?? nothingApplies(status.version), told),
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
