import type { BreakerState } from '../breaker/circuit.ts'
import type { Clock } from '../core/clock.ts'
import type { Duration } from '../core/duration.ts'
import type { LimitStatus } from '../core/engine/ask.ts'
import type { FixedLimits } from '../core/engine/limit-set.ts'
import type { Key } from '../core/key.ts'
import type { RuleAnswer } from '../policy/document/document.ts'
import type { PolicyStatus } from '../policy/live/live-policy.ts'
import type { RequestView } from '../policy/request-view.ts'
import type { CloseOptions, Part, PartHealth } from '../runtime/part.ts'
import type { StoreHealth } from '../stores/store.ts'
import type { Decision } from './decision/decision.ts'
import type { Units } from './decision/units.ts'
import type { LimiterEvents } from './events.ts'
import type { LimiterStats } from './stats/limiter-stats.ts'

export type { Units } from './decision/units.ts'

export interface TakeOptions<Rule extends string = string> {
  /** The rule to charge; may be left out when the policy has only one, or only one without a `key` of its own. */
  readonly rule?: Rule
  /** Units to spend; 1 unless said otherwise. */
  readonly cost?: number
  /** The subject's tier, where the policy cannot derive it from the key. */
  readonly tier?: string
  /** The class it counts for, where classes share the limit; the policy's default class unless said otherwise. */
  readonly class?: string
}

export interface RefundOptions<Rule extends string = string> extends TakeOptions<Rule> {
  /**
   * When the units were taken (`Date.now()` at the decision). Left out, they are taken to be of the present window: a
   * refund that comes after its window has ended then gives back from the next one.
   */
  readonly takenAt?: number | Date
}

/** For how long something may wait for its turn. */
export interface WaitOptions<Rule extends string = string> extends TakeOptions<Rule> {
  /** The longest wait: what would take longer is refused at once. Without it, a wait has no bound. */
  readonly maxWait?: Duration
  /** Ends the wait; the promise rejects with its reason. */
  readonly signal?: AbortSignal
}

export interface BlockOptions<Rule extends string = string> {
  /** For how long, from now. */
  readonly for: Duration
  /** The rule whose bucket it is; may be left out when the policy has only one. */
  readonly rule?: Rule
}

export interface HoldOptions<Rule extends string = string> extends TakeOptions<Rule> {
  /** Makes asking again with the same id harmless. Made up when left out. */
  readonly id?: string
  /** How long the hold lives when its process has died, or without `extend` if it is not renewed. 30 s by default. */
  readonly ttl?: Duration
  /** Whether it is renewed for as long as somebody has its handle, at most a day. True by default. */
  readonly renew?: boolean
  /** Waits for it in turn, as `wait` does, for at most so long. Without it, a denial is returned at once. */
  readonly maxWait?: Duration
  /** With `maxWait`: ends the wait. */
  readonly signal?: AbortSignal
}

/**
 * Units that are taken, but not yet permanently. Declared with `await using`, a hold that is still open at the end of
 * its block ends there as it would by expiring: what `reserve` took comes back, and of what `acquire` and `admit` took
 * the permit.
 *
 * @example
 * async function report() {
 *   await using permit = await limiter.acquire('tenant:a')
 *   if (permit.allowed) await fetch('https://reports.example/')
 * }
 */
export interface HoldHandle<Rule extends string = string> extends AsyncDisposable {
  readonly id: string
  readonly decision: Decision<Rule>
  /** Shorthand for `decision.allowed`. Settling a hold that was not allowed does nothing. */
  readonly allowed: boolean
  /**
   * Ends the hold: what it really cost is spent, the rest comes back. A number is for the rules whose cost is read from
   * the request, if any, and leaves others as they are; 0 gives everything back. True when the hold was still open, or
   * had expired and what it cost was charged now.
   *
   * @example await hold.settle(1240)
   * @example await hold.settle({ tpm: 1240 }) // by the name of the rule; those not named keep what they took
   */
  settle(actual: Units<Rule>): Promise<boolean>
  /** Ends the hold as if it had never been. */
  cancel(): Promise<boolean>
  /** Ends the hold and keeps what it took: frees the permit of a concurrency limit. */
  release(): Promise<boolean>
  /** Lets the hold live for another `ttl` from now. Only one with `renew: false` needs it. */
  extend(ttl?: Duration): Promise<boolean>
}

/** A decision, and what is held until the work is done. */
export interface Admission<Rule extends string = string> {
  readonly decision: Decision<Rule>
  /** The permit that an allowed request has; undefined when no rule that it met counts what is in flight. */
  readonly hold: HoldHandle<Rule> | undefined
}

/** A key you built yourself, or a request that rules are matched against. */
export type Subject = Key | RequestView

export interface CheckOptions<Rule extends string = string> {
  /** Decide by this rule alone, if it matches; by all that match when left out. */
  readonly rule?: Rule
  /**
   * Units to spend, in place of what the rules read from the request; where no rule reads its cost, in place of what
   * all of them say.
   */
  readonly cost?: number
}

/** Everything known about one subject, for people. */
export interface Inspection {
  /** `service/rule/part/...`, as `sluice inspect` takes it. */
  readonly key: string
  readonly rule: string
  readonly limits: readonly LimitStatus[]
  /** What is decided for it without counting; undefined for limits that are counted. */
  readonly fixed: FixedLimits | undefined
  /**
   * Whether the tier comes from the request or the caller and was not given: its limits are not known then,
   * and none are shown.
   */
  readonly tierUnknown: boolean
  /** Whether the store did not answer: the limits are then what this process knows, such as its own share. */
  readonly degraded: boolean
  readonly holds: readonly { id: string; cost: number; expiresInMs: number }[]
}

/** Which rules applied to a request and why, without spending. */
export interface Explanation {
  readonly service: string
  readonly policyVersion: string
  readonly rules: readonly {
    readonly rule: string
    readonly mode: 'enforce' | 'shadow'
    readonly matched: boolean
    readonly why: string
    readonly key: string | undefined
    readonly tier: string | undefined
    readonly cost: number | undefined
    readonly limits: readonly LimitStatus[]
    readonly fixed: FixedLimits | undefined
  }[]
  /** What `check` would decide now. */
  readonly decision: Decision
}

/** Ready means that decisions are exact at the moment. */
export interface LimiterHealth extends PartHealth {
  readonly store: StoreHealth & {
    readonly name: string
    readonly breaker: BreakerState
    readonly lastContactMs: number
  }
  readonly policy: PolicyStatus
}

/**
 * Decides how much may flow. Made by `createLimiter`. `Rule` are the names of the rules, where the policy is written in
 * code.
 */
export interface Limiter<Rule extends string = string> extends Part<LimiterEvents> {
  /**
   * Decides on a request by all rules that match it, or on a key: all are spent, or none. Where a rule has a
   * concurrency limit, the decision comes with a hold of its permit, to be released when the work is done. The other
   * rules are spent permanently, as by `check`.
   */
  admit(subject: Subject, options?: HoldOptions<Rule>): Promise<Admission<Rule>>
  /** Decides like `admit`, but takes no permit: a concurrency limit only has to have one that is free. */
  check(request: RequestView, options?: CheckOptions<Rule>): Promise<Decision<Rule>>
  /** Spends from the bucket of a key. Like `check`, it takes no permit of a concurrency limit. */
  take(key: Key, options?: TakeOptions<Rule>): Promise<Decision<Rule>>
  /**
   * Like `take`, or for a request like `check`, but waits where those would deny: first in, first out. Resolves to a
   * denial at once when the wait would be longer than `maxWait`, or too many wait (`maxWaiting`).
   *
   * @example
   * for await (const mail of queue) {
   *   await limiter.wait('mail') // at the rate of the rule
   *   void send(mail)
   * }
   */
  wait(subject: Subject, options?: WaitOptions<Rule>): Promise<Decision<Rule>>
  /** What `take` would say, without spending. */
  peek(key: Key, options?: TakeOptions<Rule>): Promise<Decision<Rule>>
  /** Takes units whose final cost is not known yet. Unsettled, they come back when the hold expires. */
  reserve(subject: Subject, options?: HoldOptions<Rule>): Promise<HoldHandle<Rule>>
  /** Takes a permit; what else the rule spends stays spent. */
  acquire(subject: Subject, options?: HoldOptions<Rule>): Promise<HoldHandle<Rule>>
  /** Ends a hold by its id from anywhere, such as another process. `actual` is what it really cost. */
  settle(subject: Subject, id: string, actual: Units<Rule>, options?: { readonly rule?: Rule }): Promise<boolean>
  /** Gives units back to the windows they were taken from; those that are over get nothing. */
  refund(key: Key, options?: RefundOptions<Rule>): Promise<void>
  /** Forgets everything a subject has used. */
  reset(key: Key, options?: { readonly rule?: Rule }): Promise<void>
  /**
   * Lets nothing of a key pass for a while, in all processes; it takes the place of a block that there is. Reads as
   * denials with the reason `blocked`.
   *
   * @example await limiter.block('203.0.113.7', { for: '15m' })
   */
  block(key: Key, options: BlockOptions<Rule>): Promise<void>
  /** Ends the block of a key. False when there was none. */
  unblock(key: Key, options?: { readonly rule?: Rule }): Promise<boolean>
  /** How a subject stands. `tier` names its tier, where the policy cannot derive it from the key. */
  inspect(key: Key, options?: { readonly rule?: Rule; readonly tier?: string }): Promise<Inspection>
  explain(request: RequestView): Promise<Explanation>
  health(): Promise<LimiterHealth>
  /** Gives leases back, ends timers and closes what Sluice opened. */
  close(options?: CloseOptions): Promise<void>
  /**
   * How it stands and what it decided. Counting begins with the first call, or with the limiter where its Redis handle
   * reports it. Of more than 400 decisions between two calls, one of every 32 is counted and stands for all; which one
   * is random.
   */
  stats(): LimiterStats
  /** How many wait now. */
  readonly waiting: number
  /** The state of the breaker before the store. */
  readonly breaker: BreakerState
  /** Its time; what waits for its decisions uses the same. */
  readonly clock: Clock
  readonly policy: {
    readonly status: PolicyStatus
    readonly service: string
    readonly rules: readonly Rule[]
    readonly readsBody: boolean
    /** By rule: what clients are told in place of the usual. */
    readonly answers: ReadonlyMap<string, RuleAnswer>
    /** Whether any rule can apply to requests; the others are used only by `take` and its like. */
    readonly hasRequestRules: boolean
  }
}
