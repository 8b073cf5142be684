import type { Charge, ChargedRule } from '../core/engine/ask.ts'
import type { LimitSet } from '../core/engine/limit-set.ts'
import type { ReadKeyPart } from '../core/key.ts'
import type { CompiledCapacity } from './capacity/compile-capacity.ts'
import type { EnvoySpec, RuleAnswer, RuleMode } from './document/document.ts'
import type { Term } from './document/term.ts'
import type { LookupSource } from './lookup/lookup-options.ts'
import type { RequestView } from './request-view.ts'
import type { DelayTerms } from './rule/delay-spec.ts'
import type { Selector } from './selector/selector.ts'
import type { CompiledUpstream } from './upstream/upstream.ts'

/** A field of a request that a rule looks at, such as `headers.x-api-key`. */
export type ReadField = Pick<Selector, 'root' | 'path'>

/** A rule, ready to be decided on. */
export interface CompiledRule extends ChargedRule {
  readonly mode: RuleMode
  /** What a client is told in place of the usual. */
  readonly answer: RuleAnswer | undefined
  /** How requests are slowed down before they are denied. */
  readonly delay: DelayTerms | undefined
  /** When it is in force. */
  readonly term: Term
  /** Whether it is for descriptors, of whose rules only the first that matches is charged. */
  readonly forDescriptors: boolean
  /** What it means to the other descriptors of a request of Envoy's. */
  readonly envoy: EnvoySpec | undefined
  /** Whether it finds its key in requests; one that does not is used only through `take`. */
  readonly keyed: boolean
  /**
   * Whether its cost is read from the request: settling corrects it, and leaves rules with a fixed cost as they are.
   */
  readonly estimatesCost: boolean
  /** Whether the rule or an override of it begins or ends some day, so that the time matters to `limitsFor`. */
  readonly dated: boolean
  /** Whether subjects differ in their limits, by overrides or tiers. */
  readonly limitsVary: boolean
  /** Whether some subject's limits are fixed, so that nothing is counted for it. */
  readonly mayBeFixed: boolean
  /** What it looks at in requests: for its match, key, tier and cost. */
  readonly reads: readonly ReadField[]
  /**
   * The limits in force for a subject: those of an override for it, else of its tier, else the rule's own.
   * `tier` names the subject's tier where the caller knows it, and `of` the class, where classes share the limit.
   */
  limitsFor(subject: string, tier: string | undefined, nowMs: number, of?: string): LimitSet
  /** The names of its tiers, where subjects have one. */
  readonly tiers?: ReadonlySet<string> | undefined
  /** The classes that share the limit. */
  readonly classes: readonly string[] | undefined
  /** Why no request can have a key of so many parts, to find mistakes of people; undefined when one can. */
  whyNoRequestHas(parts: readonly ReadKeyPart[]): string | undefined
  /** What is probably not meant in the rule; with the time, also which overrides have ended. */
  warnings(nowMs: number | undefined): readonly string[]
  /**
   * Whether the tier of the subject is not known: without a request, where only requests or callers say it; with one,
   * where it is in a context that was not given. No override makes it irrelevant.
   */
  isTierUnknown(subject: string, nowMs: number, request?: RequestView): boolean
  /** Whether the subject has an override of its own, to explain its limits. */
  overrideFor(subject: string, nowMs: number): 'in-force' | 'expired' | 'pending' | undefined
}

/** A charge whose rule is known in full. */
export interface RuleCharge extends Charge {
  readonly rule: CompiledRule
}

/** A rule that applies to a request, as its charge. */
export interface MatchedRule extends RuleCharge {
  readonly tier: string | undefined
}

/** What the rules of a policy say to one request. */
export interface Matched {
  readonly rules: readonly MatchedRule[]
  /** A rule with `onMissing: deny` whose key the request does not have. */
  readonly refusedBy: CompiledRule | undefined
}

/** Why a rule did or did not apply; `explain` prints these. */
export interface RuleTrace {
  readonly rule: string
  readonly mode: RuleMode
  readonly matched: boolean
  /** In words: which condition failed, which part of the key was missing, or why it applies. */
  readonly why: string
  /** Whether it refuses the request because a part of the key is missing. */
  readonly refuses: boolean
  readonly match: MatchedRule | undefined
}

/** One version of a policy, compiled. It never changes: a decision holds on to one and so never mixes two versions. */
export interface CompiledPolicy {
  readonly service: string
  readonly version: string
  readonly rules: readonly CompiledRule[]
  rule(name: string): CompiledRule | undefined
  /** What knows tiers by key; also what was met that it does not know yet. */
  readonly lookups: Pick<LookupSource, 'takePending'> | undefined
  /** The vendors that this service calls. */
  readonly upstreams: readonly CompiledUpstream[]
  /** The capacity table, where the document has one. */
  readonly capacity: CompiledCapacity | undefined
  /** `only` names the one rule to look at, which must be a rule of this policy; all of them when left out. */
  match(request: RequestView, nowMs: number, only?: string): Matched
  explain(request: RequestView, nowMs: number): readonly RuleTrace[]
  /** Whether a rule looks into the body, so that adapters can say when none was parsed. */
  readonly readsBody: boolean
  /** Whether some rule slows requests down. */
  readonly delays: boolean
  /** Whether some rule has subjects for which nothing is counted. */
  readonly mayBeFixed: boolean
  /** Whether the time matters to `match`: something begins, ends, or holds at some hours only. */
  readonly dated: boolean
}
