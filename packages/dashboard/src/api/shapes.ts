/** The answers of the API, as far as the pages use them; /openapi.json describes all of them. */
export interface Limit {
  readonly rule: string
  readonly name: string
  readonly amount: number
  readonly remaining: number
  /** 0 for a limit on what is in flight. */
  readonly windowMs: number
  readonly resetMs: number
  /** null: never. */
  readonly retryAfterMs: number | null
}

export interface Decision {
  readonly allowed: boolean
  readonly reason: 'allowed' | 'quota' | 'unavailable' | 'missing-key'
  readonly rule: string | null
  readonly retryAfterMs: number | null
  readonly degraded: boolean
}

export interface ExplainedRule {
  readonly rule: string
  readonly mode: 'enforce' | 'shadow'
  readonly matched: boolean
  readonly why: string
  readonly key: string | null
  readonly tier: string | null
  readonly cost: number | null
  readonly limits: readonly Limit[]
}

export interface Explanation {
  readonly service: string
  readonly policyVersion: string
  readonly rules: readonly ExplainedRule[]
  readonly decision: Decision
}

export type LimitsSpec = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[]

export interface Inspection {
  readonly key: string
  readonly rule: string
  readonly limits: readonly Limit[]
  readonly holds: readonly { readonly id: string; readonly cost: number; readonly expiresInMs: number }[]
  readonly explanation: string
  readonly written: LimitsSpec | null
  readonly override: { readonly limits: LimitsSpec; readonly until?: string | number } | null
}

export interface Policy {
  readonly service: string
  readonly version: string
  readonly ageMs: number
  readonly source: string
  readonly lastError: string | null
  readonly rules: readonly string[]
  readonly writable: boolean
  readonly readOnly: string | null
  readonly revision: number | null
  readonly text: string | null
}

export interface AuditEntry {
  readonly id: number
  readonly when: string
  readonly who: { readonly via: 'token' | 'page'; readonly address: string }
  readonly what: string
  readonly target: string
  readonly before: unknown
  readonly after: unknown
}
