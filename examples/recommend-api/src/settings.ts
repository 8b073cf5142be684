/** The settings from the environment, with the names and defaults of the original service. */
export interface Settings {
  readonly modelFailures: number
  readonly modelCooldownMs: number
  readonly fallbackScore: number
  readonly maxMandatoryPerDay: number
  readonly maxActiveOffers: number
  /** The share of decisions that are traced, from 0 to 1. */
  readonly traceSampleRate: number
  /** The status of a limiter that is closed because Redis is away: 503, or 429 as in the original. */
  readonly closedStatus: 429 | 503
}

type Environment = Readonly<Record<string, string | undefined>>

export function readSettings(env: Environment): Settings {
  const number = (name: string, otherwise: number): number => {
    const value = env[name] === undefined ? otherwise : Number(env[name])
    if (!Number.isFinite(value) || value < 0) throw new Error(`${name} is ${env[name]}; use a number from 0`)
    return value
  }
  return {
    modelFailures: number('MODEL_CB_THRESHOLD', 5),
    modelCooldownMs: number('MODEL_CB_COOLDOWN_MS', 60_000),
    fallbackScore: number('SCORING_FALLBACK_SCORE', 0.5),
    maxMandatoryPerDay: number('MAX_MANDATORY_OFFERS_PER_DAY', 5),
    maxActiveOffers: number('MAX_ACTIVE_OFFERS', 3),
    traceSampleRate: number('TRACE_SAMPLE_RATE', 0.01),
    closedStatus: number('LIMITER_CLOSED_STATUS', 503) === 429 ? 429 : 503,
  }
}

/** `DATABASE_URL=postgres://...?connection_limit=20` */
export function poolSize(databaseUrl: string, otherwise = 10): number {
  const size = Number(new URL(databaseUrl).searchParams.get('connection_limit') ?? otherwise)
  return Number.isInteger(size) && size > 0 ? size : otherwise
}
