/** The answer of `GET /v1/overview`. */
export interface OverviewAnswer {
  readonly service: string
  readonly uptimeSeconds: number
  readonly deadlineMs: number
  readonly policy: {
    readonly version: string
    readonly ageMs: number
    readonly source: string
    readonly lastError: string | null
    readonly writable: boolean
  }
  readonly store: {
    readonly name: string
    readonly ok: boolean
    readonly reachable: boolean
    readonly roundTripMs: number | null
    readonly breaker: string
    readonly warnings: readonly string[]
    readonly roundTripP99Ms: number | null
    readonly decisionsPerCall: number | null
    readonly answeredLocally: number | null
  }
  readonly outage: {
    readonly since: number
    readonly failure: string
    readonly message: string
    readonly decisions: number
  } | null
  readonly refused: { readonly keys: readonly RefusedKey[]; readonly seen: number }
  readonly replicas: readonly Replica[]
  readonly complete: boolean
}

export interface RefusedKey {
  readonly key: string
  readonly rule: string
  readonly perSecond: number
  readonly limit: string | null
  readonly passesInMs: number | null
}

export interface Replica {
  readonly replica: string
  readonly host: string
  readonly pid: number
  readonly isShown: boolean
  readonly ageMs: number
  readonly policyVersion: string | null
  readonly breaker: string | null
}

export interface HotKey {
  readonly key: string
  readonly count: number
  readonly error: number
}

export interface Limit {
  readonly name: string
  readonly algorithm: string
  readonly amount: number
  readonly periodMs: number
}

/** Allowed, denied, and what a shadow rule would have denied. */
export type Step = readonly [allowed: number, denied: number, wouldDeny: number]

export interface RuleSummary {
  readonly name: string
  readonly mode: 'enforce' | 'shadow'
  /** Whether the tier of a subject decides its limits. */
  readonly byTier: boolean
  readonly limits: readonly Limit[]
  readonly history: readonly Step[]
  readonly allowed: number
  readonly denied: number
  readonly shadow: { readonly allowed: number; readonly denied: number }
  readonly hottestKey: HotKey | null
  readonly mostDeniedKey: HotKey | null
  /** Whether there are keys of which none stands out. */
  readonly keysAlike: { readonly hottest: boolean; readonly mostDenied: boolean }
}

/** The answer of `GET /v1/rules`. */
export interface RulesAnswer {
  readonly service: string
  readonly stepMs: number
  readonly replicas: number
  readonly rules: readonly RuleSummary[]
}

export interface Denial {
  readonly at: number
  readonly key: string
  readonly reason: string
  readonly limit: string | null
  readonly retryAfterMs: number | null
  readonly cost: number
}

/** The answer of `GET /v1/rules/{name}`. */
export interface RuleAnswer extends RuleSummary {
  readonly stepMs: number
  readonly match: unknown
  readonly key: unknown
  readonly tier: unknown
  readonly onStoreFailure: string
  readonly keysOverMs: number
  readonly hottest: readonly HotKey[]
  readonly mostDenied: readonly HotKey[]
  readonly fullness: { readonly bins: readonly number[]; readonly looked: number; readonly isSample: boolean }
  readonly denials: readonly Denial[]
}
