import { maxPeriodMs } from '../core/algorithms/limit.ts'
import type { Clock } from '../core/clock.ts'
import { formatDuration, parseDuration } from '../core/duration.ts'
import type { Answer, Ask } from '../core/engine/ask.ts'
import { invalidOption, SluiceError, show } from '../core/errors.ts'
import type { Key } from '../core/key.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import type { UsedPolicy } from '../policy/live/use-policy.ts'
import type { RequestView } from '../policy/request-view.ts'
import { type CloseOptions, closeInTime, closeWithinMs, HealthQuestion } from '../runtime/part.ts'
import { withinTime } from '../runtime/within-time.ts'
import type { CallbackStore } from '../stores/callback-store.ts'
import type { FallbackStore } from '../stores/fallback/fallback.ts'
import type { Recounts } from '../stores/recount/recount.ts'
import type { FailingSource } from '../stores/recount/recounting.ts'
import type { Store, StoreHealth, WaitLine } from '../stores/store.ts'
import { checkCallOptions, takenUsOf } from './call-options.ts'
import {
  type Charges,
  chargesOfKey,
  chargesOfRequest,
  chargeTo,
  isCounted,
  isRequest,
  needsPermit,
  noCharges,
  takeCharge,
  whileWaiting,
} from './decision/charges.ts'
import { asItIs, Decider } from './decision/decider.ts'
import type { Decision } from './decision/decision.ts'
import { explain, peekAt } from './decision/explain.ts'
import type { RuleCharge } from './decision/rule-charge.ts'
import { RuleNames } from './decision/rule-names.ts'
import { toDecision, unmatched } from './decision/to-decision.ts'
import { peekAll, toInspection } from './decision/to-inspection.ts'
import { actualCosts, type Units } from './decision/units.ts'
import type { LimiterEvents } from './events.ts'
import { describePolicy, limiterHealth } from './health.ts'
import { askHeld, checkId, settleAsk, withHold, withoutHold } from './hold.ts'
import { Holder } from './holder.ts'
import type {
  Admission,
  BlockOptions,
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
  WaitOptions,
} from './limiter.ts'
import type { LossCheck } from './loss-check.ts'
import { LimiterCounter } from './stats/limiter-counter.ts'
import { type LimiterStats } from './stats/limiter-stats.ts'
import { Sample } from './stats/sample.ts'
import { SlowDown } from './wait/slow-down.ts'
import { Waiting } from './wait/waiting.ts'
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
  readonly line: WaitLine | undefined
  readonly losses: LossCheck | undefined
  readonly maxWaiting: number
  readonly clock: Clock
  readonly beforeClose: () => Promise<void>
  readonly afterClose: () => Promise<void>
}

async function asMade<Made>(made: Made): Promise<Made> {
  return made
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
  readonly #waiting: Waiting
  readonly #slowDown: SlowDown
  readonly clock: Clock
  #described: { readonly current: CompiledPolicy; readonly policy: Limiter['policy'] } | undefined
  #stopWatching: (() => void) | undefined
  #counter: LimiterCounter | undefined
  readonly #sample = new Sample()
  #closed = false
  readonly #giving: Pick<Store, 'decide'> = { decide: (ask, withinMs) => this.#give(ask, withinMs) }
  /** Whether requests were checked, so that a policy that can match none deserves a warning. */
  #sawRequests = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#live = parts.policy.live
    this.#store = parts.store
    this.#events = parts.events
    this.#deadlineMs = parts.deadlineMs
    this.#decider = new Decider(parts.store, { ...parts, sample: this.#sample }, parts.deadlineMs, parts.inProcess)
    this.#holder = new Holder({ ...parts, store: this.#giving, decider: this.#decider, names: this.#names })
    this.#waiting = new Waiting({
      ...parts,
      // Workers have no random numbers yet when they make a limiter.
      process: parts.inProcess ? '' : crypto.randomUUID(),
      isDated: () => this.#live.current.dated,
      decide: (charges) => this.#decider.decide(this.#policyNow(), charges, asItIs),
      decisionOf: (charges, answer) => toDecision(charges, answer, this.#live.current.version),
      announce: (decision, { enforced }, tookMs) => this.#decider.announce(decision, enforced, tookMs),
    })
    parts.events.on('policyLoaded', () => this.#waiting.wakeAll())
    this.#storeHealth = new HealthQuestion((withinMs) => parts.fallback.health(withinMs), parts.clock)
    this.clock = parts.clock
    this.#slowDown = new SlowDown(parts)
  }

  get policy(): Limiter['policy'] {
    const { current } = this.#live
    // Adapters look at it with every request.
    if (this.#described?.current !== current) this.#described = { current, policy: describePolicy(this.#live) }
    return this.#described.policy
  }

  get waiting(): number {
    return this.#waiting.count
  }

  take(key: Key, options?: TakeOptions): Promise<Decision> {
    try {
      checkCallOptions.take(options)
      return this.#take(this.#policyNow(), key, options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async wait(subject: Subject, options: WaitOptions = {}): Promise<Decision> {
    checkCallOptions.wait(options)
    const charges = await this.#followedCharges(subject, options)
    const { enforced, shadow } = charges()
    const decide = () => this.#decider.decide(this.#policyNow(), charges(), asItIs)
    // What is one charge is spent together with others that wait for the same.
    const isOne = enforced.length === 1 && shadow.length === 0
    const decision = await this.#waiting.enter(charges, options, isOne ? undefined : decide)
    return this.#slowDown.after(charges(), decision, options.signal)
  }

  async peek(key: Key, options?: TakeOptions): Promise<Decision> {
    checkCallOptions.peek(options)
    const policy = this.#policyNow()
    const rule = this.#names.find(policy, options?.rule)
    if (rule === undefined) return unmatched(policy.version)
    const charge = await this.#known(() => chargeTo(rule, key, options, this.clock), asMade)
    return peekAt([charge], policy.version, this.#store, this.#deadlineMs)
  }

  check(request: RequestView, options?: CheckOptions): Promise<Decision> {
    this.#sawRequests = true
    try {
      checkCallOptions.check(options)
      const policy = this.#policyNow()
      const chargesOf = (): Charges => this.#chargesOf(policy, request, options)
      if (policy.lookups) return this.#known(chargesOf, (charges) => this.#decider.decide(policy, charges, asItIs))
      return this.#decider.decide(policy, chargesOf(), asItIs)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  admit(subject: Subject, options?: HoldOptions): Promise<Admission> {
    try {
      checkCallOptions.admit(options)
      if (options?.maxWait !== undefined) return this.#waitToAdmit(subject, options)
      const policy = this.#policyNow()
      const chargesOf = (): Charges => this.#chargesOf(policy, subject, options)
      if (policy.delays) return this.#known(chargesOf, (charges) => this.#admitSlowly(policy, charges, options))
      return this.#known(chargesOf, (charges) => this.#admit(policy, charges, options))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async reserve(subject: Subject, options?: HoldOptions): Promise<HoldHandle> {
    checkCallOptions.reserve(options)
    return this.#hold(subject, options, 'reserve')
  }

  async acquire(subject: Subject, options?: HoldOptions): Promise<HoldHandle> {
    checkCallOptions.acquire(options)
    return this.#hold(subject, options, 'acquire')
  }

  async settle(subject: Subject, id: string, actual: Units, options?: { readonly rule?: string }): Promise<boolean> {
    checkCallOptions.settle(options)
    const policy = this.#policyNow()
    const charges = await this.#known(() => this.#chargesOf(policy, subject, options), asMade)
    const { isFor, checkRule } = this.#holder.settlement(policy, charges)
    const costOf = actualCosts(actual, isFor, checkRule)
    checkId(id)
    const open = await askHeld(charges, (held) => settleAsk(held, id, costOf), this.#giving, this.#deadlineMs)
    return open > 0
  }

  async refund(key: Key, options?: RefundOptions): Promise<void> {
    checkCallOptions.refund(options)
    const charges = [await this.#chargeNamed(key, options)].filter(isCounted)
    const takenUs = takenUsOf(options)
    if (charges.length > 0) await this.#give({ kind: 'refund', charges, takenUs }, this.#deadlineMs)
  }

  async reset(key: Key, options?: { readonly rule?: string }): Promise<void> {
    checkCallOptions.reset(options)
    await this.#give({ kind: 'reset', charges: [await this.#chargeNamed(key, options)] }, this.#deadlineMs)
  }

  async block(key: Key, options: BlockOptions): Promise<void> {
    checkCallOptions.block(options)
    const forUs = parseDuration(options?.for, 'limiter.block.for') * 1000
    if (!(forUs >= 1000 && forUs <= maxPeriodMs * 1000))
      throw invalidOption('limiter.block.for', options.for, `use a time from 1ms to ${formatDuration(maxPeriodMs)}`)
    const charge = await this.#chargeNamed(key, options)
    if (!isCounted(charge))
      throw invalidOption(
        'limiter.block.key',
        key,
        `its limits are ${charge.limits.fixed}, so that nothing is looked up`,
      )
    await this.#store.decide({ kind: 'block', charges: [charge], forUs }, this.#deadlineMs)
  }

  async unblock(key: Key, options?: { readonly rule?: string }): Promise<boolean> {
    checkCallOptions.unblock(options)
    const charge = await this.#chargeNamed(key, options)
    return (await this.#give({ kind: 'block', charges: [charge], forUs: 0 }, this.#deadlineMs)).granted > 0
  }

  async inspect(key: Key, options?: { readonly rule?: string; readonly tier?: string }): Promise<Inspection> {
    checkCallOptions.inspect(options)
    const charge = await this.#chargeNamed(key, options)
    const { rule, subject } = charge
    const nowMs = this.clock.now() / 1000
    if (options?.tier === undefined && rule.isTierUnknown(subject, nowMs)) return toInspection(charge, undefined, true)
    if (!isCounted(charge)) return toInspection(charge, undefined)
    return toInspection(charge, await peekAll(charge, options?.tier, nowMs, this.#store, this.#deadlineMs))
  }

  async explain(request: RequestView): Promise<Explanation> {
    const policy = this.#policyNow()
    if (policy.lookups) await this.#known(() => policy.match(request, this.clock.now() / 1000), asMade)
    return explain(this.#policyNow(), request, this.#store, this.#deadlineMs, this.clock.now() / 1000)
  }

  health(): Promise<LimiterHealth> {
    const { dropped } = this.#names
    // What was asked before decisions began to fail says nothing about now.
    const askStore = () => this.#storeHealth.answer(this.#parts.fallback.lastContactMs || undefined)
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
    const ms = closeWithinMs('limiter.close', options ?? {})
    if (this.#closed) return
    this.#closed = true
    // What Redis does not answer in that time goes on in the background, until its own deadlines.
    await closeInTime(ms, this.clock)(this.#close())
  }

  async #close(): Promise<void> {
    this.#counter?.stop()
    await this.#waiting.close()
    this.#holder.close()
    await this.#parts.policy.close()
    await this.#parts.beforeClose()
    await this.#store.close()
    this.#stopWatching?.()
    await this.#parts.afterClose()
  }

  async #hold(subject: Subject, options: HoldOptions | undefined, kind: 'reserve' | 'acquire'): Promise<HoldHandle> {
    const take = (charges: Charges) => this.#holder.hold(this.#policyNow(), charges, options, kind, false)
    if (options?.maxWait === undefined) {
      const takeSlowly = async (charges: Charges) => {
        await this.#slowDown.before(charges, options?.signal)
        return take(charges)
      }
      return this.#known(() => this.#chargesOf(this.#policyNow(), subject, options), takeSlowly)
    }
    return this.#waitTo(subject, options, take, (decision) => this.#holder.refused(options, decision))
  }

  #admit(policy: CompiledPolicy, charges: Charges, options: HoldOptions | undefined): Promise<Admission> {
    if (charges.enforced.some(needsPermit) || charges.shadow.some(needsPermit))
      return this.#holder.hold(policy, charges, options, 'acquire', true).then(withHold)
    return this.#decider.decide(policy, charges, withoutHold)
  }

  async #admitSlowly(policy: CompiledPolicy, charges: Charges, options: HoldOptions | undefined): Promise<Admission> {
    const isHeld = charges.enforced.some(needsPermit)
    if (isHeld) await this.#slowDown.before(charges, options?.signal)
    const admission = await this.#admit(policy, charges, options)
    if (!isHeld) await this.#slowDown.after(charges, admission.decision, options?.signal)
    return admission
  }

  #waitToAdmit(subject: Subject, options: HoldOptions): Promise<Admission> {
    const admit = (charges: Charges) => this.#admit(this.#policyNow(), charges, options)
    return this.#waitTo(subject, options, admit, withoutHold)
  }

  /** Waits until what `take` returns is allowed. */
  async #waitTo<Taken extends { readonly decision: Decision }>(
    subject: Subject,
    options: HoldOptions,
    take: (charges: Charges) => Promise<Taken>,
    refused: (decision: Decision) => Taken,
  ): Promise<Taken> {
    const charges = await this.#followedCharges(subject, options)
    await this.#slowDown.before(charges(), options.signal)
    let taken: Taken | undefined
    const decision = await this.#waiting.enter(charges, options, async () => {
      taken = await take(charges())
      return taken.decision
    })
    return taken?.decision === decision ? taken : refused(decision)
  }

  /** What a subject is charged under the policy in force, also when that changes, or a term ends, while it waits. */
  async #followedCharges(subject: Subject, options: TakeOptions): Promise<() => Charges> {
    if (this.#policyNow().lookups) await this.#known(() => this.#chargesOf(this.#policyNow(), subject, options), asMade)
    let known: { readonly policy: CompiledPolicy; readonly atUs: number; readonly charges: Charges } | undefined
    return () => {
      const policy = this.#policyNow()
      const atUs = policy.dated ? this.clock.now() : 0
      if (known?.policy !== policy || known.atUs !== atUs)
        known = { policy, atUs, charges: whileWaiting(this.#chargesOf(policy, subject, options)) }
      return known.charges
    }
  }

  /** Asks for what may give units or permits back, for which others may be waiting. */
  async #give(ask: Ask, withinMs: number): Promise<Answer> {
    const answer = await this.#store.decide(ask, withinMs)
    this.#waiting.wake(ask.charges)
    return answer
  }

  #policyNow(): CompiledPolicy {
    if (this.#closed)
      throw new SluiceError('SLUICE_CLOSED', 'The limiter is closed; make a new one with createLimiter.')
    return this.#live.current
  }

  #take(policy: CompiledPolicy, key: Key, options: TakeOptions | undefined): Promise<Decision> {
    const rule = this.#names.find(policy, options?.rule)
    if (policy.lookups) {
      const chargesOf = (): Charges => chargesOfKey(rule, key, options, this.clock)
      return this.#known(chargesOf, (charges) => this.#decider.decide(policy, charges, asItIs))
    }
    if (rule === undefined || rule.mode === 'shadow' || rule.mayBeFixed)
      return this.#decider.decide(policy, chargesOfKey(rule, key, options, this.clock), asItIs)
    return this.#decider.take(policy, takeCharge(rule, key, options, this.clock))
  }

  /** Makes charges and goes on with them: at once, or when tiers that were not known were looked up, in time. */
  #known<Made, Result>(make: () => Made, goOn: (made: Made) => Promise<Result>): Promise<Result> {
    const made = make()
    const { lookups } = this.#live.current
    const pending = lookups?.takePending()
    if (pending === undefined) return goOn(made)
    const late = (): undefined => undefined
    const inTime = withinTime(pending, { ms: this.#deadlineMs, clock: this.clock, late }).catch(late)
    return inTime.then(() => {
      const again = make()
      // What is not known by now has the default.
      lookups!.takePending()
      return goOn(again)
    })
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
  async #chargeNamed(key: Key, options: TakeOptions | undefined): Promise<RuleCharge> {
    const rule = this.#names.find(this.#policyNow(), options?.rule)
    if (rule !== undefined) return this.#known(() => chargeTo(rule, key, options, this.clock), asMade)
    throw new SluiceError('SLUICE_UNKNOWN_RULE', `The policy no longer has the rule ${show(options?.rule)}.`)
  }
}
