import { enrichmentSources, keys } from './keys.ts'
import { mayDeliver } from './mandatory-cap.ts'
import type { Services } from './services.ts'

export interface Recommendation {
  readonly offers: readonly { readonly id: string; readonly score: number; readonly mandatory: boolean }[]
  readonly degradedScoring: boolean
}

/** Records the result of a step of a decision, if the decision is traced. */
export type Trace = (step: string, found: unknown) => unknown

/** Decides which offers a customer sees. */
export async function recommend(
  tenant: string,
  customer: string,
  services: Services,
  trace: Trace,
): Promise<Recommendation> {
  const { cache, database, scoring, settings, limiter } = services
  const [offers, rules, doNotContact, blocked, profile, segments] = await Promise.all([
    cache.getOrFetch(keys.offers(tenant), () => database.offers(tenant)),
    cache.getOrFetch(keys.rules(tenant), () => database.rules(tenant)),
    cache.getOrFetch(keys.contactPolicies(tenant), () => database.doNotContact(tenant)),
    cache.getOrFetch(keys.guardrails(tenant), () => database.blockedOffers(tenant)),
    cache.getOrFetch(keys.profile(tenant, customer), () => database.profile(tenant, customer)),
    cache.getOrFetch(keys.segments(tenant, customer), () => database.segments(tenant, customer)),
  ])
  trace('enrichment', { sources: Object.keys(enrichmentSources), segments })
  if (doNotContact.includes(customer)) return { offers: [], degradedScoring: false }

  const eligible = offers.filter(
    ({ id, segment }) => !blocked.includes(id) && (segment === null || segments.includes(segment)),
  )
  const scored = await Promise.all(
    eligible.map(async (offer) => {
      const fits = rules.filter((rule) => rule.offer === offer.id && segments.includes(rule.segment))
      const fit = Math.max(...fits.map((rule) => rule.fit), fits.length === 0 ? 1 : 0)
      return { offer, ...(await scoring.score(offer, { ...profile, segments, offer: offer.id }, fit)) }
    }),
  )
  trace(
    'scores',
    scored.map(({ offer, score, degraded }) => ({ offer: offer.id, score, degraded })),
  )

  // Mandatory offers first, then the best ones.
  scored.sort((a, b) => Number(b.offer.mandatory) - Number(a.offer.mandatory) || b.score - a.score)
  const chosen: typeof scored = []
  for (const candidate of scored) {
    if (chosen.length === settings.maxActiveOffers) break
    const { id, mandatory, paced } = candidate.offer
    if (mandatory && !(await mayDeliver(customer, settings.maxMandatoryPerDay, limiter, database))) continue
    if (paced && !(await limiter.take([tenant, id], { rule: 'campaign' })).allowed) continue
    chosen.push(candidate)
  }
  trace(
    'chosen',
    chosen.map(({ offer }) => offer.id),
  )
  return {
    offers: chosen.map(({ offer, score }) => ({ id: offer.id, score, mandatory: offer.mandatory })),
    degradedScoring: scored.some(({ degraded }) => degraded),
  }
}
