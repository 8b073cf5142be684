import type { Env } from 'example-service'

/** The settings from the environment, with the names and defaults of the original service. */
export interface Settings {
  readonly modelFailures: number
  readonly modelCooldownMs: number
  readonly fallbackScore: number
  readonly maxMandatoryPerDay: number
  /** How many offers of a tenant are loaded, and so how many can be scored. */
  readonly maxActiveOffers: number
  /** In seconds; 0 is not cached. */
  readonly ttl: { readonly offers: number; readonly policies: number; readonly guardrails: number }
  /** The share of decisions that are traced, from 0 to 1. */
  readonly traceSampleRate: number
  /** The status of a limiter that is closed because Redis is away: 503, or 429 as in the original. */
  readonly closedStatus: 429 | 503
}

/** What a timer can wait for. */
export const longestTtlSeconds = 2_000_000

export function readSettings(env: Env): Settings {
  const ttl = { most: longestTtlSeconds }
  return {
    modelFailures: env.whole('MODEL_CB_THRESHOLD', 5, { least: 1 }),
    modelCooldownMs: env.whole('MODEL_CB_COOLDOWN_MS', 60_000, { least: 1 }),
    fallbackScore: env.number('SCORING_FALLBACK_SCORE', 0.5),
    maxMandatoryPerDay: env.whole('MAX_MANDATORY_OFFERS_PER_DAY', 5),
    maxActiveOffers: env.whole('MAX_ACTIVE_OFFERS', 5000, { least: 1 }),
    ttl: {
      offers: env.whole('OFFERS_CACHE_TTL_SECONDS', 300, ttl),
      policies: env.whole('POLICIES_CACHE_TTL_SECONDS', 300, ttl),
      guardrails: env.whole('GUARDRAILS_CACHE_TTL_SECONDS', 30, ttl),
    },
    traceSampleRate: env.number('TRACE_SAMPLE_RATE', 0.1, { most: 1 }),
    closedStatus: env.choice('LIMITER_CLOSED_STATUS', ['503', '429'], '503') === '429' ? 429 : 503,
  }
}
