import type { AlgorithmName } from '../../core/algorithms/limit.ts'
import type { OnStoreFailure } from '../../core/engine/ask.ts'
import type { FixedLimits } from '../../core/engine/limit-set.ts'
import type { KeyPart } from '../../core/key.ts'
import type { RequestView } from '../request-view.ts'
import type { CapacitySpec } from './capacity-spec.ts'
import type { TermSpec } from './term.ts'
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

/** One limit or several; or none at all: everything passes, or nothing does. */
export type LimitsSpec = LimitSpec | readonly LimitSpec[] | FixedLimits

/** Says in code whose bucket a request spends from; null when the request has no such key. */
export type KeyFunction = (request: RequestView) => string | readonly string[] | null

/** A selector, a list of selectors, a function, or `{ first: [...] }` of those: the first one that the request has. */
export type KeySpec = KeyAlternative | { readonly first: readonly KeyAlternative[] }
export type KeyAlternative = string | readonly string[] | KeyFunction

/** What a field must be: a value, one of several values, or what operators say. Values are compared as text. */
export type ConditionSpec =
  | KeyPart
  | readonly KeyPart[]
  | (OperatorsSpec & { readonly not?: KeyPart | readonly KeyPart[] | OperatorsSpec | undefined })

/** All that is said must hold. */
export interface OperatorsSpec {
  readonly exists?: boolean | undefined
  readonly is?: KeyPart | readonly KeyPart[] | undefined
  readonly prefix?: string | readonly string[] | undefined
  /** A text with a `*` for any characters, also none, or several such texts. */
  readonly like?: string | readonly string[] | undefined
  /** The name of a list of the policy, or several. */
  readonly in?: string | readonly string[] | undefined
  /** For `is`, `prefix`, `like` and `in`. */
  readonly ignoreCase?: boolean | undefined
  readonly above?: number | undefined
  readonly atLeast?: number | undefined
  readonly below?: number | undefined
  readonly atMost?: number | undefined
}

/** Hours (`09:00-17:00`) and days (`mon-fri`) on the wall clock of a zone; UTC unless said otherwise. */
export interface TimeWindowSpec {
  readonly hours?: string | readonly string[] | undefined
  readonly days?: string | readonly string[] | undefined
  readonly zone?: string | undefined
}
export type TimeSpec = TimeWindowSpec | { readonly not: TimeWindowSpec }

/** A text, a prefix (`acme-*`) or a network; with an end, or only from some day. */
export type ListEntrySpec =
  | KeyPart
  | (TermSpec & { readonly value: KeyPart; readonly description?: string | undefined })

/** Which requests a rule applies to; all that is said must hold. */
export interface MatchSpec {
  readonly method?: string | readonly string[] | undefined
  readonly path?: string | readonly string[] | undefined
  readonly headers?: Readonly<Record<string, ConditionSpec>> | undefined
  readonly query?: Readonly<Record<string, ConditionSpec>> | undefined
  readonly body?: Readonly<Record<string, ConditionSpec>> | undefined
  readonly cookies?: Readonly<Record<string, ConditionSpec>> | undefined
  readonly context?: Readonly<Record<string, ConditionSpec>> | undefined
  readonly host?: ConditionSpec | undefined
  /** Addresses and networks, such as `10.0.0.0/8`. */
  readonly ip?: ConditionSpec | undefined
  readonly time?: TimeSpec | undefined
}

/** A selector that yields the name of a tier, or an id (`by`, else the first part of the key) that is looked up. */
export type TierSpec =
  | string
  | {
      readonly by?: string | undefined
      readonly map?: Readonly<Record<string, string>> | undefined
      /** `true` for `RATE_LIMIT_TIER`, or another prefix. */
      readonly env?: boolean | string | undefined
      /** The name of a function or table that says the tier, or the limits, of an id. */
      readonly lookup?: string | undefined
      readonly default?: string | undefined
    }

/** What a request costs by the value of a selector; `default`, or 1, for every other value and for none. */
export interface CostMapSpec {
  readonly by: string
  readonly map: Readonly<Record<string, number>>
  readonly default?: number | undefined
}

/** The limits of a tier; with `extends`, those of another tier and in their place or beside them its own. */
export type TierLimitsSpec =
  | LimitsSpec
  | (LimitSpec & { readonly extends: string; readonly limits?: Exclude<LimitsSpec, string> | undefined })

/** What a client is told when a rule refuses it, in place of the usual. */
export interface RuleAnswer {
  /** 400 to 599. */
  readonly status?: number | undefined
  readonly title?: string | undefined
  readonly detail?: string | undefined
}

/** When a key is blocked: after so many denials, or charges, within a time. */
export interface BlockSpec {
  /** 1 unless said otherwise. */
  readonly after?: number | undefined
  readonly within?: string | undefined
  /** How long the first block is. */
  readonly for: string
  /** Each block is so many times as long as the one before; 1 unless said otherwise. */
  readonly grow?: number | undefined
  /** The longest block, and how long one is remembered after its end; a day unless said otherwise. */
  readonly max?: string | undefined
  /** What counts: denials, or charges such as failed log-ins; denials unless said otherwise. */
  readonly count?: 'denials' | 'charges' | undefined
}

/** Slows requests down before they are denied: each one beyond `after` waits a little longer. */
export interface DelaySpec {
  /** So many units of the rule's first limit pass at once. */
  readonly after: number
  readonly each: string
  /** The longest delay; 10 s unless said otherwise. */
  readonly max?: string | undefined
}

/** Guarantees classes of requests a part of the rule's limit. What a class leaves, others may use. */
export interface SharesSpec {
  /** A selector that yields the class, such as `context.class`. */
  readonly by: string
  /** By class, what it is guaranteed: whole percentages such as `70%`, at most 100 % together. */
  readonly of: Readonly<Record<string, string>>
  /** The class of requests whose own is missing or not listed. */
  readonly default: string
}

/** Other limits for one key, or for all that begin alike (`acme-*`), in place of the rule's and the tier's. */
export interface OverrideSpec extends TermSpec {
  /** For people: documents in JSON and in databases have no comments. */
  readonly description?: string | undefined
  readonly key: KeyPart | readonly KeyPart[]
  readonly limits: LimitsSpec
}

export interface RuleSpec extends TermSpec {
  readonly name: string
  /** For people: documents in JSON and in databases have no comments. */
  readonly description?: string | undefined
  readonly match?: MatchSpec | undefined
  readonly key?: KeySpec | undefined
  readonly onMissing?: 'skip' | 'deny' | undefined
  readonly limits?: LimitsSpec | undefined
  readonly tier?: TierSpec | undefined
  /** Tiers that mean something else in this rule than in the rest of the policy. */
  readonly tiers?: Readonly<Record<string, TierLimitsSpec>> | undefined
  readonly overrides?: readonly OverrideSpec[] | undefined
  readonly cost?: number | string | CostMapSpec | ((request: RequestView) => number) | undefined
  readonly algorithm?: AlgorithmName | undefined
  readonly burst?: number | undefined
  readonly onStoreFailure?: OnStoreFailure | undefined
  readonly mode?: RuleMode | undefined
  readonly answer?: RuleAnswer | undefined
  readonly block?: BlockSpec | undefined
  readonly delay?: DelaySpec | undefined
  readonly shares?: SharesSpec | undefined
  readonly lease?: boolean | undefined
  /** For rules with the method `RLS`: what they mean to the other descriptors of a request of Envoy's. */
  readonly envoy?: EnvoySpec | undefined
}

export interface EnvoySpec {
  /** Over this limit, a request is denied only if it is over all its limits that say so. */
  readonly quota?: boolean | undefined
  /** Rules by name that are not charged for a request with a descriptor of this rule. */
  readonly replaces?: readonly string[] | undefined
}

/** What one service enforces, as people write it. */
export interface PolicyDocument {
  readonly $schema?: string | undefined
  readonly service: string
  /** For people: documents in JSON and in databases have no comments. */
  readonly description?: string | undefined
  readonly version?: string | number | undefined
  readonly tiers?: Readonly<Record<string, TierLimitsSpec>> | undefined
  /** Keys and networks by the name of their list, for `in`. */
  readonly lists?: Readonly<Record<string, readonly ListEntrySpec[]>> | undefined
  /** What comes in. A policy has rules, upstreams or both. */
  readonly rules?: readonly RuleSpec[] | undefined
  /** What goes out. A limiter ignores them, as egress ignores rules. */
  readonly upstreams?: readonly UpstreamSpec[] | undefined
  /** How much shippers may send to this service. */
  readonly capacity?: CapacitySpec | undefined
}
