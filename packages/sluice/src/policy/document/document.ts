import type { AlgorithmName } from '../../core/algorithms/limit.ts'
import type { OnStoreFailure } from '../../core/engine/ask.ts'
import type { KeyPart } from '../../core/key.ts'
import type { RequestView } from '../request-view.ts'
import type { CapacitySpec } from './capacity-spec.ts'
import type { UpstreamSpec } from './upstream-spec.ts'

/** Whether a rule denies, or only watches. */
export type RuleMode = 'enforce' | 'shadow'

/** One limit in long form (`amount`, `per`), or up to four in short form (`rps`, `rpm`, `rph`, `rpd`). */
export interface LimitSpec {
  readonly rps?: number | undefined
  readonly rpm?: number | undefined
  readonly rph?: number | undefined
  readonly rpd?: number | undefined
  readonly amount?: number | undefined
  /** A length such as `'15m'`, or `'day'`, `'week'`, `'month'` of a calendar. */
  readonly per?: string | undefined
  readonly algorithm?: AlgorithmName | undefined
  /** `gcra`: how many units may pass at once; the amount unless said otherwise. */
  readonly burst?: number | undefined
  /** What decisions, headers and metrics call the limit. */
  readonly name?: string | undefined
  /** `fixed-window`: whether windows start at the first hit (the default) or at multiples of the period. */
  readonly align?: 'first-hit' | 'clock' | undefined
  /** `calendar`: an IANA zone; UTC unless said otherwise. */
  readonly zone?: string | undefined
  /** `calendar`: spreads the amount over the period. */
  readonly pace?: PaceSpec | undefined
}

/** Spreads the amount of a calendar limit over its period. */
export interface PaceSpec {
  /** `even`, or 24 weights, one for each hour of the day in the zone of the limit. */
  readonly curve?: 'even' | readonly number[] | undefined
  /** How many units may be spent ahead of the plan; one minute of it unless said otherwise. */
  readonly burst?: number | undefined
  /** When behind, at most so many times the planned rate; 1.5 unless said otherwise. */
  readonly catchUp?: number | undefined
}

export type LimitsSpec = LimitSpec | readonly LimitSpec[]

/** Says in code whose bucket a request spends from; null when the request has no such key. */
export type KeyFunction = (request: RequestView) => string | readonly string[] | null

/** A selector, a list of selectors, a function, or `{ first: [...] }` of those: the first one that the request has. */
export type KeySpec = KeyAlternative | { readonly first: readonly KeyAlternative[] }
export type KeyAlternative = string | readonly string[] | KeyFunction

/** What a field must be: a value, one of several values, or there at all. Values are compared as text. */
export type ConditionSpec = KeyPart | readonly KeyPart[] | { readonly exists: boolean }

/** Which requests a rule applies to; all that is said must hold. */
export interface MatchSpec {
  readonly method?: string | readonly string[] | undefined
  readonly path?: string | readonly string[] | undefined
  readonly headers?: Readonly<Record<string, ConditionSpec>> | undefined
  readonly query?: Readonly<Record<string, ConditionSpec>> | undefined
  readonly body?: Readonly<Record<string, ConditionSpec>> | undefined
}

/** A selector that yields the name of a tier, or an id (`by`, else the first part of the key) that is looked up. */
export type TierSpec =
  | string
  | {
      readonly by?: string | undefined
      readonly map?: Readonly<Record<string, string>> | undefined
      /** `true` for `RATE_LIMIT_TIER`, or another prefix. */
      readonly env?: boolean | string | undefined
      readonly default?: string | undefined
    }

/** Other limits for exactly one key, in place of the rule's and the tier's. */
export interface OverrideSpec {
  /** For people: documents in JSON and in databases have no comments. */
  readonly description?: string | undefined
  readonly key: KeyPart | readonly KeyPart[]
  readonly limits: LimitsSpec
  /** Until when: an ISO date or time with a zone, or milliseconds since 1970. */
  readonly until?: string | number | Date | undefined
}

export interface RuleSpec {
  readonly name: string
  /** For people: documents in JSON and in databases have no comments. */
  readonly description?: string | undefined
  readonly match?: MatchSpec | undefined
  readonly key?: KeySpec | undefined
  readonly onMissing?: 'skip' | 'deny' | undefined
  readonly limits?: LimitsSpec | undefined
  readonly tier?: TierSpec | undefined
  /** Tiers that mean something else in this rule than in the rest of the policy. */
  readonly tiers?: Readonly<Record<string, LimitsSpec>> | undefined
  readonly overrides?: readonly OverrideSpec[] | undefined
  readonly cost?: number | string | ((request: RequestView) => number) | undefined
  readonly algorithm?: AlgorithmName | undefined
  readonly burst?: number | undefined
  readonly onStoreFailure?: OnStoreFailure | undefined
  readonly mode?: RuleMode | undefined
  readonly lease?: boolean | undefined
}

/** What one service enforces, as people write it. */
export interface PolicyDocument {
  readonly $schema?: string | undefined
  readonly service: string
  /** For people: documents in JSON and in databases have no comments. */
  readonly description?: string | undefined
  readonly version?: string | number | undefined
  readonly tiers?: Readonly<Record<string, LimitsSpec>> | undefined
  /** What comes in. A policy has rules, upstreams or both. */
  readonly rules?: readonly RuleSpec[] | undefined
  /** What goes out. A limiter ignores them, as egress ignores rules. */
  readonly upstreams?: readonly UpstreamSpec[] | undefined
  /** How much shippers may send to this service. */
  readonly capacity?: CapacitySpec | undefined
}
