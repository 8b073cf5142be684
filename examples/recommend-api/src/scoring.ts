import { type Breakers, createBreakers, withTimeout } from 'sluice/breaker'
import type { Offer } from './database.ts'
import type { Settings } from './settings.ts'

/** Calls a scoring model; rejects when it does not answer. */
export type CallModel = (model: string, features: object, options: { readonly signal?: AbortSignal }) => Promise<number>

export interface Score {
  readonly score: number
  /** Whether the model did not answer, so that the fallback score was used. */
  readonly degraded: boolean
}

export interface Scoring {
  readonly breakers: Breakers
  score(offer: Offer, features: object, fit: number): Promise<Score>
}

/** A breaker per model: one that fails 5 times in a row is not called for a minute; then one call probes it. */
export function scoring(callModel: CallModel, settings: Settings): Scoring {
  const breakers = createBreakers({
    name: 'models',
    failures: settings.modelFailures,
    cooldown: settings.modelCooldownMs,
  })
  const inTime = withTimeout(500)(callModel)
  return {
    breakers,
    async score({ model, weight }, features, fit) {
      const outcome = await breakers
        .for(model)
        .outcome((call) => inTime(model, features, call), { fallback: () => settings.fallbackScore })
      return { score: outcome.value * weight * fit, degraded: outcome.degraded }
    },
  }
}
