import { type Breakers, createBreakers, withTimeout } from 'sluice/breaker'
import type { Settings } from '../settings.ts'
import type { Candidate } from './qualify.ts'

/** Scores offers with one call of a model; rejects when it does not answer. */
export type CallModel = (
  model: string,
  features: { readonly customer: object; readonly offers: readonly string[] },
  options: { readonly signal?: AbortSignal },
) => Promise<readonly number[]>

export interface Scored extends Candidate {
  readonly score: number
}

export interface Scoring {
  readonly breakers: Breakers
  /** `degraded` when any model did not answer, so that its offers have the fallback score. */
  score(
    candidates: readonly Candidate[],
    customer: object,
  ): Promise<{ readonly scored: Scored[]; readonly degraded: boolean }>
}

/** A breaker per model: one that fails 5 times in a row is not called for a minute; then one call probes it. */
export function createScoring(callModel: CallModel, settings: Settings): Scoring {
  const breakers = createBreakers({
    name: 'models',
    failures: settings.modelFailures,
    cooldown: settings.modelCooldownMs,
  })
  const called = withTimeout(500)(callModel)
  const inTime: CallModel = async (model, features, options) => {
    const scores: unknown = await called(model, features, options)
    if (Array.isArray(scores) && features.offers.every((_, i) => Number.isFinite(scores[i]))) return scores
    throw new Error(`the model ${model} did not answer with a score for each offer`)
  }
  return {
    breakers,
    async score(candidates, customer) {
      const models = [...new Set(candidates.map(({ offer }) => offer.model))]
      const outcomes = await Promise.all(
        models.map(async (model) => {
          const group = candidates.filter(({ offer }) => offer.model === model)
          const offers = group.map(({ offer }) => offer.id)
          const { value: scores, degraded } = await breakers
            .for(model)
            .outcome((call) => inTime(model, { customer, offers }, call), { fallback: () => [] as readonly number[] })
          const scored = group.map((each, i) => {
            const score = (scores[i] ?? settings.fallbackScore) * each.creative.weight * each.fit
            return { ...each, score }
          })
          return { scored, degraded }
        }),
      )
      return {
        scored: outcomes.flatMap(({ scored }) => scored),
        degraded: outcomes.some(({ degraded }) => degraded),
      }
    },
  }
}
