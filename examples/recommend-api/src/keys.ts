import { defineKeys, key } from 'sluice/cache'

/** How long the data of each enrichment source is cached. */
export const enrichmentSources = { profile: '120s', segments: '600s' } as const
export type EnrichmentSource = keyof typeof enrichmentSources

const rarelyChanged = { ttl: '300s', staleIfError: '10m' } as const

/** Everything that is cached. After a change of the data, `cache.invalidate` makes it visible at once. */
export const keys = defineKeys({
  offers: key('offers', ['tenant'], rarelyChanged),
  rules: key('rules', ['tenant'], rarelyChanged),
  contactPolicies: key('contact-policies', ['tenant'], rarelyChanged),
  guardrails: key('guardrails', ['tenant'], { ttl: '30s' }),
  profile: key('profile', ['tenant', 'customer'], { ttl: enrichmentSources.profile, staleIfError: '10m' }),
  segments: key('segments', ['tenant', 'customer'], { ttl: enrichmentSources.segments, staleIfError: '10m' }),
})
