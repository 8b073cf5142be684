import type { Entity, Offer } from '../data/entities.ts'

export interface Candidate {
  readonly offer: Offer
  readonly creative: Offer['creatives'][number]
  /** How well the offer fits the customer, from 0 to 1. */
  readonly fit: number
}

export interface Situation {
  readonly customer: string
  readonly placement: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly rules: readonly Entity<'rules'>[]
  readonly contactPolicies: readonly Entity<'contact-policies'>[]
  readonly guardrails: readonly Entity<'guardrails'>[]
}

/** The offers that the customer may see at this placement. Rules and policies are in order of priority. */
export function qualify(offers: readonly Offer[], situation: Situation): Candidate[] {
  const { customer, placement, fields, rules, contactPolicies, guardrails } = situation
  return offers.flatMap((offer) => {
    const isAbout = ({ offers, categories }: { offers?: string[] | undefined; categories?: string[] | undefined }) =>
      (offers?.includes(offer.id) ?? true) && (categories?.includes(offer.category) ?? true)
    if (guardrails.some(isAbout)) return []
    const policy = contactPolicies.find((each) => isAbout(each) && (each.customers?.includes(customer) ?? true))
    if (policy?.allow === false) return []
    const ofOffer = rules.filter(isAbout)
    const rule = ofOffer.find(({ field, values }) => values.includes(String(fields[field])))
    const fit = ofOffer.length === 0 ? 1 : (rule?.fit ?? 0)
    const creative = offer.creatives
      .filter(({ placements }) => placements.includes(placement))
      .sort((a, b) => b.weight - a.weight)[0]
    return fit === 0 || creative === undefined ? [] : [{ offer, creative, fit }]
  })
}
