import type { Services } from '../services.ts'
import type { Trace } from '../tracing.ts'
import { mayDeliver } from './mandatory-cap.ts'
import { qualify } from './qualify.ts'
import type { Scored } from './scoring.ts'

export interface Question {
  readonly tenant: string
  readonly customer: string
  readonly placement: string
  /** How many offers to answer with. */
  readonly limit: number
}

export interface Recommendation {
  readonly offers: readonly {
    readonly id: string
    readonly category: string
    readonly creative: string
    readonly score: number
    readonly mandatory: boolean
  }[]
  readonly degradedScoring: boolean
}

/** Decides which offers a customer sees. */
export async function recommend(question: Question, services: Services, trace: Trace): Promise<Recommendation> {
  const { tenant, customer, placement, limit } = question
  const { data, scoring } = services
  const [offers, rules, contactPolicies, guardrails, fields] = await trace('load', () =>
    Promise.all([
      data.active(tenant, 'offers'),
      data.active(tenant, 'rules'),
      data.active(tenant, 'contact-policies'),
      data.active(tenant, 'guardrails'),
      data.enrich(tenant, customer, services.enrichment),
    ]),
  )
  const situation = { customer, placement, fields, rules, contactPolicies, guardrails }
  const candidates = await trace('qualify', async () => qualify(offers, situation))
  const { scored, degraded } = await trace('score', () => scoring.score(candidates, fields))
  const ranked = scored.sort(byRank(degraded))
  const chosen = await trace('choose', () => choose(ranked, tenant, customer, limit, services))
  return {
    offers: chosen.map(({ offer: { id, category, mandatory }, creative, score }) => ({
      ...{ id, category, creative: creative.id, score, mandatory },
    })),
    degradedScoring: degraded,
  }
}

/**
 * Mandatory offers first, then the best scores. Fallback scores cannot be compared with those of a model, so while one
 * is bypassed the priority of the offer comes first and the weight of its creative decides between equals.
 */
function byRank(degraded: boolean): (a: Scored, b: Scored) => number {
  return (a, b) =>
    Number(b.offer.mandatory) - Number(a.offer.mandatory) ||
    (degraded ? b.offer.priority - a.offer.priority : 0) ||
    b.score - a.score
}

/** Takes the first ones that daily caps and budgets allow. */
async function choose(
  ranked: readonly Scored[],
  tenant: string,
  customer: string,
  limit: number,
  { limiter, database, settings }: Services,
): Promise<Scored[]> {
  const chosen: Scored[] = []
  let mandatoryLeft = true
  for (const candidate of ranked) {
    if (chosen.length === limit) break
    const { id, mandatory, paced } = candidate.offer
    if (mandatory) {
      mandatoryLeft &&= await mayDeliver([tenant, customer], settings.maxMandatoryPerDay, limiter, database)
      if (!mandatoryLeft) continue
    }
    if (paced && !(await limiter.take([tenant, id], { rule: 'campaign' })).allowed) continue
    chosen.push(candidate)
  }
  return chosen
}
