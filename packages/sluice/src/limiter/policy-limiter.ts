import type { BreakerState } from '../breaker/circuit.ts'
import type { Clock } from '../core/clock.ts'
import type { Key } from '../core/key.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { CompiledPolicy, RuleCharge } from '../policy/compiled-policy.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import type { RequestView } from '../policy/request-view.ts'
import { type CloseOptions, closeInTime, closeWithinMs } from '../runtime/part.ts'
import type { CallbackStore } from '../stores/callback-store.ts'
import { checkCallOptions } from './call-options.ts'
import { Charger } from './charger.ts'
import { type Charges, chargesOfKey, needsPermit, takeCharge } from './decision/charges.ts'
import { asItIs, Decider, withoutHold } from './decision/decider.ts'
import type { Decision } from './decision/decision.ts'
import type { Units } from './decision/units.ts'
import type { LimiterEvents } from './events.ts'
import type { FurtherCalls } from './further-calls.ts'
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
import type { CallParts, LimiterParts } from './limiter-parts.ts'
import { LimiterCounter } from './stats/limiter-counter.ts'
import type { LimiterStats } from './stats/limiter-stats.ts'
import { Sample } from './stats/sample.ts'

interface Parts extends LimiterParts {
  readonly beforeClose: () => Promise<void>
  readonly afterClose: () => Promise<void>
}

/** The limiter: turns keys and requests into charges of one policy version, and answers into decisions. */
export class PolicyLimiter implements Limiter {
  readonly #parts: CallParts & Parts
  readonly #charger: Charger
  readonly #decider: Decider
  readonly clock: Clock
  #described: { readonly current: CompiledPolicy; readonly policy: Limiter['policy'] } | undefined
  #stopWatching: (() => void) | undefined
  #counter: LimiterCounter | undefined
  readonly #sample = new Sample()
  #further: FurtherCalls | undefined
  #loading: Promise<FurtherCalls> | undefined
  /** Whether requests were checked, so that a policy that can match none deserves a warning. */
  #sawRequests = false

  /** Without the further calls, they are loaded by the first of them. */
  constructor(parts: Parts, Further: typeof FurtherCalls | undefined) {
    const { policy, store, deadlineMs, clock, inProcess } = parts
    this.#charger = new Charger(policy.live, deadlineMs, clock)
    this.#decider = new Decider(store, { ...parts, sample: this.#sample }, deadlineMs, inProcess)
    this.#parts = { ...parts, charger: this.#charger, decider: this.#decider }
    this.#further = Further && new Further(this.#parts)
    this.clock = clock
  }

  get policy(): Limiter['policy'] {
    const { live } = this.#parts.policy
    const { current } = live
    // Adapters look at it with every request.
    if (this.#described?.current !== current) this.#described = { current, policy: describePolicy(live) }
    return this.#described.policy
  }

  get waiting(): number {
    return this.#further?.held.count ?? 0
  }

  get breaker(): BreakerState {
    return this.#parts.fallback.breaker
  }

  take(key: Key, options?: TakeOptions): Promise<Decision> {
    try {
      checkCallOptions.take(options)
      return this.#take(this.#charger.policy, key, options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  check(request: RequestView, options?: CheckOptions): Promise<Decision> {
    this.#sawRequests = true
    try {
      checkCallOptions.check(options)
      const { policy } = this.#charger
      const chargesOf = (): Charges => this.#charger.chargesOf(policy, request, options)
      if (policy.lookups)
        return this.#charger.known(chargesOf, (charges) => this.#decider.decide(policy, charges, asItIs))
      return this.#decider.decide(policy, chargesOf(), asItIs)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  admit(subject: Subject, options?: HoldOptions): Promise<Admission> {
    try {
      checkCallOptions.admit(options)
      const { policy } = this.#charger
      if (options?.maxWait !== undefined || policy.delays) return this.#with(({ held }) => held.admit(subject, options))
      const chargesOf = (): Charges => this.#charger.chargesOf(policy, subject, options)
      return this.#charger.known(chargesOf, (charges) => {
        if (charges.enforced.some(needsPermit) || charges.shadow.some(needsPermit))
          return this.#with(({ held }) => held.admitWithPermit(policy, charges, options))
        return this.#decider.decide(policy, charges, withoutHold)
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async peek(key: Key, options?: TakeOptions): Promise<Decision> {
    checkCallOptions.peek(options)
    return this.#with(({ keys }) => keys.peek(key, options))
  }

  async wait(subject: Subject, options: WaitOptions = {}): Promise<Decision> {
    checkCallOptions.wait(options)
    return this.#with(({ held }) => held.wait(subject, options))
  }

  async reserve(subject: Subject, options?: HoldOptions): Promise<HoldHandle> {
    checkCallOptions.reserve(options)
    return this.#with(({ held }) => held.hold(subject, options, 'reserve'))
  }

  async acquire(subject: Subject, options?: HoldOptions): Promise<HoldHandle> {
    checkCallOptions.acquire(options)
    return this.#with(({ held }) => held.hold(subject, options, 'acquire'))
  }

  async settle(subject: Subject, id: string, actual: Units, options?: { readonly rule?: string }): Promise<boolean> {
    checkCallOptions.settle(options)
    return this.#with(({ held }) => held.settle(subject, id, actual, options))
  }

  async refund(key: Key, options?: RefundOptions): Promise<void> {
    checkCallOptions.refund(options)
    return this.#with(({ keys }) => keys.refund(key, options))
  }

  async reset(key: Key, options?: { readonly rule?: string }): Promise<void> {
    checkCallOptions.reset(options)
    return this.#with(({ keys }) => keys.reset(key, options))
  }

  async block(key: Key, options: BlockOptions): Promise<void> {
    checkCallOptions.block(options)
    return this.#with(({ keys }) => keys.block(key, options))
  }

  async unblock(key: Key, options?: { readonly rule?: string }): Promise<boolean> {
    checkCallOptions.unblock(options)
    return this.#with(({ keys }) => keys.unblock(key, options))
  }

  async inspect(key: Key, options?: { readonly rule?: string; readonly tier?: string }): Promise<Inspection> {
    checkCallOptions.inspect(options)
    return this.#with(({ keys }) => keys.inspect(key, options))
  }

  async explain(request: RequestView): Promise<Explanation> {
    return this.#with(({ keys }) => keys.explain(request))
  }

  health(): Promise<LimiterHealth> {
    return this.#with(({ keys }) => keys.health(this.#sawRequests))
  }

  stats(): LimiterStats {
    this.#counter ??= new LimiterCounter(this, this.#sample)
    return this.#counter.stats()
  }

  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void {
    this.#stopWatching ??= watchStore(this.#parts.store, this.#parts.events)
    return this.#parts.events.on(name, listener)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(options?: CloseOptions): Promise<void> {
    const ms = closeWithinMs('limiter.close', options ?? {})
    // What was called before goes first.
    await this.#loading?.catch(() => {})
    if (this.#charger.isClosed) return
    const undecided = this.#charger.close()
    // What Redis does not answer in that time goes on in the background, until its own deadlines.
    await closeInTime(ms, this.clock)(this.#close(undecided))
  }

  async #close(undecided: Promise<void>): Promise<void> {
    const { policy, store, beforeClose, afterClose } = this.#parts
    await undecided
    this.#counter?.stop()
    await this.#further?.held.close()
    await policy.close()
    await beforeClose()
    await store.close()
    this.#stopWatching?.()
    await afterClose()
  }

  #take(policy: CompiledPolicy, key: Key, options: TakeOptions | undefined): Promise<Decision> {
    const rule = this.#charger.rule(policy, options?.rule)
    if (rule === undefined || rule.mode === 'shadow' || rule.mayBeFixed) {
      const chargesOf = (): Charges => chargesOfKey(rule, key, options, this.clock)
      return this.#charger.known(chargesOf, (charges) => this.#decider.decide(policy, charges, asItIs))
    }
    if (policy.lookups === undefined) return this.#decider.take(policy, takeCharge(rule, key, options, this.clock))
    const chargeOf = (): RuleCharge => takeCharge(rule, key, options, this.clock)
    return this.#charger.known(chargeOf, (charge) => this.#decider.take(policy, charge))
  }

  /** Goes on with the further calls, when they are there. */
  #with<T>(call: (calls: FurtherCalls) => Promise<T>): Promise<T> {
    if (this.#further !== undefined) return call(this.#further)
    this.#loading ??= import('./further-calls.ts')
      .then(({ FurtherCalls }) => {
        this.#further = new FurtherCalls(this.#parts)
        return this.#further
      })
      .finally(() => {
        // What could not be loaded is loaded again.
        this.#loading = undefined
      })
    return this.#loading.then(call)
  }
}

/** The policy that is in force now, as `limiter.policy` shows it. */
function describePolicy(live: LivePolicy): Limiter['policy'] {
  const { service, rules, readsBody } = live.current
  return {
    get status() {
      return live.status
    },
    service,
    rules: rules.map((rule) => rule.name),
    readsBody,
    answers: new Map(rules.flatMap(({ name, answer }) => (answer ? [[name, answer] as const] : []))),
    hasRequestRules: rules.some(({ keyed }) => keyed),
  }
}

/** Passes what a store does on as events; the returned function ends that. */
function watchStore(store: CallbackStore, events: Emitter<LimiterEvents>): () => void {
  return store.watch({
    roundTrip: (asks, tookMs) => events.emit('storeAnswered', { asks, tookMs }),
    local: (by, rule) => events.emit('answeredLocally', { by, rule }),
    lease: (rule, drawn, returned, stranded) => events.emit('leased', { rule, drawn, returned, stranded }),
    failure: (kind, error) => events.emit('storeFailed', { kind, error }),
    recount: (rule, outcome, error) =>
      events.emit('recounted', { rule, outcome, ...(error === undefined ? {} : { error }) }),
    breaker: (state) => events.emit('breakerChanged', { state }),
    evicted: (keys) => events.emit('evicted', { keys }),
  })
}
