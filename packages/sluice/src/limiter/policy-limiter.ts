import type { Clock } from '../core/clock.ts'
import { SluiceError, show } from '../core/errors.ts'
import type { Key } from '../core/key.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import type { UsedPolicy } from '../policy/live/use-policy.ts'
import type { RequestView } from '../policy/request-view.ts'
import { type CloseOptions, closeWithinMs, HealthQuestion } from '../runtime/part.ts'
import type { CallbackStore } from '../stores/callback-store.ts'
import type { FallbackStore } from '../stores/fallback/fallback.ts'
import type { Recounts } from '../stores/recount/recount.ts'
import type { FailingSource } from '../stores/recount/recounting.ts'
import type { StoreHealth } from '../stores/store.ts'
import { checkCallOptions, takenUsOf } from './call-options.ts'
import {
  type Charges,
  chargesOfKey,
  chargesOfRequest,
  chargeTo,
  isRequest,
  needsPermit,
  noCharges,
  takeCharge,
} from './decision/charges.ts'
import { asItIs, Decider } from './decision/decider.ts'
import type { Decision } from './decision/decision.ts'
import { explain } from './decision/explain.ts'
import type { RuleCharge } from './decision/rule-charge.ts'
import { RuleNames } from './decision/rule-names.ts'
import { toDecision, unmatched } from './decision/to-decision.ts'
import { toInspection } from './decision/to-inspection.ts'
import { actualCosts, type Units } from './decision/units.ts'
import type { LimiterEvents } from './events.ts'
import { describePolicy, limiterHealth } from './health.ts'
import { askHeld, checkId, settleAsk, withHold, withoutHold } from './hold.ts'
import { Holder } from './holder.ts'
import type {
  Admission,
  CheckOptions,
  Explanation,
  HoldHandle,
  HoldOptions,
  Inspection,
  Limiter,
  LimiterHealth,
  RefundOptions,
  Subject,
  TakeOptions,
} from './limiter.ts'
import { LimiterCounter } from './stats/limiter-counter.ts'
import { type LimiterStats } from './stats/limiter-stats.ts'
import { Sample } from './stats/sample.ts'
import { watchStore } from './watch-store.ts'

interface Parts {
  readonly policy: UsedPolicy
  readonly store: CallbackStore
  readonly fallback: FallbackStore
  readonly recounts: Recounts
  readonly failingSources: () => readonly FailingSource[]
  readonly events: Emitter<LimiterEvents>
  readonly deadlineMs: number
  /** Whether the store is in this process. */
  readonly inProcess: boolean
  readonly clock: Clock
  readonly beforeClose: () => Promise<void>
  readonly afterClose: () => Promise<void>
}

/** The limiter: turns keys and requests into charges of one policy version, and answers into decisions. */
export class PolicyLimiter implements Limiter {
  readonly #parts: Parts
  readonly #live: LivePolicy
  readonly #store: CallbackStore
  readonly #events: Emitter<LimiterEvents>
  readonly #deadlineMs: number
  readonly #names = new RuleNames()
  readonly #decider: Decider
  readonly #holder: Holder
  readonly #storeHealth: HealthQuestion<StoreHealth>
  readonly clock: Clock
  #described: { readonly current: CompiledPolicy; readonly policy: Limiter['policy'] } | undefined
  #stopWatching: (() => void) | undefined
  #counter: LimiterCounter | undefined
  readonly #sample = new Sample()
  #closed = false
  /** Whether requests were checked, so that a policy that can match none deserves a warning. */
  #sawRequests = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#live = parts.policy.live
    this.#store = parts.store
    this.#events = parts.events
    this.#deadlineMs = parts.deadlineMs
    this.#decider = new Decider(parts.store, { ...parts, sample: this.#sample }, parts.deadlineMs, parts.inProcess)
    this.#holder = new Holder(parts.store, this.#decider, this.#names, parts.deadlineMs)
    this.#storeHealth = new HealthQuestion((withinMs) => parts.fallback.health(withinMs), parts.clock)
    this.clock = parts.clock
  }

  get policy(): Limiter['policy'] {
    const { current } = this.#live
    // Adapters look at it with every request.
    if (this.#described?.current !== current) this.#described = { current, policy: describePolicy(this.#live) }
    return this.#described.policy
  }

  take(key: Key, options?: TakeOptions): Promise<Decision> {
    try {
      checkCallOptions.take(options)
      return this.#take(this.#policyNow(), key, options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async peek(key: Key, options?: TakeOptions): Promise<Decision> {
    checkCallOptions.peek(options)
    const policy = this.#policyNow()
    const rule = this.#names.find(policy, options?.rule)
    if (rule === undefined) return unmatched(policy.version)
    const charge = chargeTo(rule, key, options, this.clock)
    return toDecision(
      [charge],
      await this.#store.decide({ kind: 'peek', charges: [charge] }, this.#deadlineMs),
      policy.version,
    )
  }

  check(request: RequestView, options?: CheckOptions): Promise<Decision> {
    this.#sawRequests = true
    try {
      checkCallOptions.check(options)
      const policy = this.#policyNow()
      return this.#decider.decide(policy, this.#chargesOf(policy, request, options), asItIs)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  admit(subject: Subject, options?: HoldOptions): Promise<Admission> {
    try {
      checkCallOptions.admit(options)
      const policy = this.#policyNow()
      const charges = this.#chargesOf(policy, subject, options)
      if (charges.enforced.some(needsPermit) || charges.shadow.some(needsPermit))
        return this.#holder.hold(policy, charges, options, 'acquire', true).then(withHold)
      return this.#decider.decide(policy, charges, withoutHold)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async reserve(subject: Subject, options?: HoldOptions): Promise<HoldHandle> {
    checkCallOptions.reserve(options)
    const policy = this.#policyNow()
    return this.#holder.hold(policy, this.#chargesOf(policy, subject, options), options, 'reserve', false)
  }

  async acquire(subject: Subject, options?: HoldOptions): Promise<HoldHandle> {
    checkCallOptions.acquire(options)
    const policy = this.#policyNow()
    return this.#holder.hold(policy, this.#chargesOf(policy, subject, options), options, 'acquire', false)
  }

  async settle(subject: Subject, id: string, actual: Units, options?: { readonly rule?: string }): Promise<boolean> {
    checkCallOptions.settle(options)
    const policy = this.#policyNow()
    const charges = this.#chargesOf(policy, subject, options)
    const { isFor, checkRule } = this.#holder.settlement(policy, charges)
    const costOf = actualCosts(actual, isFor, checkRule)
    checkId(id)
    return askHeld(charges, (held) => settleAsk(held, id, costOf), this.#store, this.#deadlineMs)
  }

  async refund(key: Key, options?: RefundOptions): Promise<void> {
    checkCallOptions.refund(options)
    const charges = [this.#chargeNamed(key, options)]
    const takenUs = takenUsOf(options)
    await this.#store.decide({ kind: 'refund', charges, takenUs }, this.#deadlineMs)
  }

  async reset(key: Key, options?: { readonly rule?: string }): Promise<void> {
    checkCallOptions.reset(options)
    await this.#store.decide({ kind: 'reset', charges: [this.#chargeNamed(key, options)] }, this.#deadlineMs)
  }

  async inspect(key: Key, options?: { readonly rule?: string }): Promise<Inspection> {
    checkCallOptions.inspect(options)
    const charge = this.#chargeNamed(key, options)
    return toInspection(charge, await this.#store.decide({ kind: 'peek', charges: [charge] }, this.#deadlineMs))
  }

  explain(request: RequestView): Promise<Explanation> {
    return explain(this.#policyNow(), request, this.#store, this.#deadlineMs, this.clock.now() / 1000)
  }

  health(): Promise<LimiterHealth> {
    const { dropped } = this.#names
    const askStore = () => this.#storeHealth.answer()
    const [live, sawRequests, isClosed] = [this.#live, this.#sawRequests, this.#closed]
    return limiterHealth({ ...this.#parts, live, askStore, dropped, sawRequests, isClosed })
  }

  stats(): LimiterStats {
    this.#counter ??= new LimiterCounter(this, this.#sample)
    return this.#counter.stats()
  }

  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void {
    this.#stopWatching ??= watchStore(this.#store, this.#events)
    return this.#events.on(name, listener)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(options?: CloseOptions): Promise<void> {
    closeWithinMs('limiter.close', options ?? {})
    if (this.#closed) return
    this.#closed = true
    this.#counter?.stop()
    await this.#parts.policy.close()
    await this.#parts.beforeClose()
    await this.#store.close()
    this.#stopWatching?.()
    await this.#parts.afterClose()
  }

  #policyNow(): CompiledPolicy {
    if (this.#closed)
      throw new SluiceError('SLUICE_CLOSED', 'The limiter is closed; make a new one with createLimiter.')
    return this.#live.current
  }

  #take(policy: CompiledPolicy, key: Key, options: TakeOptions | undefined): Promise<Decision> {
    const rule = this.#names.find(policy, options?.rule)
    if (rule === undefined || rule.mode === 'shadow')
      return this.#decider.decide(policy, chargesOfKey(rule, key, options, this.clock), asItIs)
    return this.#decider.take(policy, takeCharge(rule, key, options, this.clock))
  }

  #chargesOf(policy: CompiledPolicy, subject: Subject, options: TakeOptions | undefined): Charges {
    if (isRequest(subject)) {
      if (options?.rule === undefined) return chargesOfRequest(policy, subject, options?.cost, this.clock)
      const rule = this.#names.find(policy, options.rule)
      return rule === undefined ? noCharges : chargesOfRequest(policy, subject, options.cost, this.clock, rule.name)
    }
    return chargesOfKey(this.#names.find(policy, options?.rule), subject, options, this.clock)
  }

  /** The charge for changing or reading what a rule has counted; the rule must exist. */
  #chargeNamed(key: Key, options: TakeOptions | undefined): RuleCharge {
    const rule = this.#names.find(this.#policyNow(), options?.rule)
    if (rule !== undefined) return chargeTo(rule, key, options, this.clock)
    throw new SluiceError('SLUICE_UNKNOWN_RULE', `The policy no longer has the rule ${show(options?.rule)}.`)
  }
}
