import { maxPeriodMs } from '../core/algorithms/limit.ts'
import { noneCalled } from '../core/did-you-mean.ts'
import { formatDuration, parseDuration } from '../core/duration.ts'
import { invalidOption, show } from '../core/errors.ts'
import type { Key } from '../core/key.ts'
import type { CompiledRule } from '../policy/compiled-policy.ts'
import type { RequestView } from '../policy/request-view.ts'
import { HealthQuestion } from '../runtime/part.ts'
import type { Store, StoreHealth } from '../stores/store.ts'
import { takenUsOf } from './call-options.ts'
import { asMade } from './charger.ts'
import { chargeTo, isCounted } from './decision/charges.ts'
import type { Decision } from './decision/decision.ts'
import { explain, peekAt } from './decision/explain.ts'
import { unmatched } from './decision/to-decision.ts'
import { peekAll, toInspection } from './decision/to-inspection.ts'
import { limiterHealth } from './health.ts'
import type { BlockOptions, Explanation, Inspection, LimiterHealth, RefundOptions, TakeOptions } from './limiter.ts'
import type { CallParts } from './limiter-parts.ts'

type Named = { readonly rule?: string } | undefined

/** The calls that look at how something stands, or change what is counted for a key. */
export class KeyCalls {
  readonly #parts: CallParts
  readonly #giving: Pick<Store, 'decide'>
  readonly #storeHealth: HealthQuestion<StoreHealth>

  /** `giving` is the store, for what gives units back. */
  constructor(parts: CallParts, giving: Pick<Store, 'decide'>) {
    this.#parts = parts
    this.#giving = giving
    this.#storeHealth = new HealthQuestion((withinMs) => parts.fallback.health(withinMs), parts.clock)
  }

  async peek(key: Key, options: TakeOptions | undefined): Promise<Decision> {
    const { charger, store, deadlineMs, clock } = this.#parts
    const { policy } = charger
    const rule = charger.rule(policy, options?.rule)
    if (rule === undefined) return unmatched(policy.version)
    const charge = await charger.known(() => chargeTo(rule, key, options, clock), asMade)
    return peekAt([charge], policy.version, store, deadlineMs)
  }

  async refund(key: Key, options: RefundOptions | undefined): Promise<void> {
    const charges = [await this.#parts.charger.chargeNamed(key, options)].filter(isCounted)
    const takenUs = takenUsOf(options)
    if (charges.length > 0) await this.#giving.decide({ kind: 'refund', charges, takenUs }, this.#parts.deadlineMs)
  }

  async reset(key: Key, options: Named): Promise<void> {
    const charges = [await this.#parts.charger.chargeNamed(key, options)]
    await this.#giving.decide({ kind: 'reset', charges }, this.#parts.deadlineMs)
  }

  async block(key: Key, options: BlockOptions): Promise<void> {
    const forUs = parseDuration(options?.for, 'limiter.block.for') * 1000
    if (!(forUs >= 1000 && forUs <= maxPeriodMs * 1000))
      throw invalidOption('limiter.block.for', options.for, `use a time from 1ms to ${formatDuration(maxPeriodMs)}`)
    const charge = await this.#parts.charger.chargeNamed(key, options)
    if (!isCounted(charge))
      throw invalidOption(
        'limiter.block.key',
        key,
        `its limits are ${charge.limits.fixed}, so that nothing is looked up`,
      )
    await this.#parts.store.decide({ kind: 'block', charges: [charge], forUs }, this.#parts.deadlineMs)
  }

  async unblock(key: Key, options: Named): Promise<boolean> {
    const charges = [await this.#parts.charger.chargeNamed(key, options)]
    const { granted } = await this.#giving.decide({ kind: 'block', charges, forUs: 0 }, this.#parts.deadlineMs)
    return granted > 0
  }

  async inspect(
    key: Key,
    options: { readonly rule?: string; readonly tier?: string } | undefined,
  ): Promise<Inspection> {
    const { charger, store, deadlineMs, clock } = this.#parts
    const charge = await charger.chargeNamed(key, options)
    const { rule, subject } = charge
    if (options?.tier !== undefined) checkTier(rule, options.tier)
    const nowMs = clock.now() / 1000
    if (options?.tier === undefined && rule.isTierUnknown(subject, nowMs)) return toInspection(charge, undefined, true)
    if (!isCounted(charge)) return toInspection(charge, undefined)
    return toInspection(charge, await peekAll(charge, options?.tier, nowMs, store, deadlineMs))
  }

  async explain(request: RequestView): Promise<Explanation> {
    const { charger, store, deadlineMs, clock } = this.#parts
    const { policy } = charger
    if (policy.lookups) await charger.known(() => policy.match(request, clock.now() / 1000), asMade)
    return explain(charger.policy, request, store, deadlineMs, clock.now() / 1000)
  }

  /** `sawRequests`: whether requests were checked, so that a policy that can match none deserves a warning. */
  health(sawRequests: boolean): Promise<LimiterHealth> {
    const { fallback, policy, charger } = this.#parts
    // What was asked before decisions began to fail says nothing about now.
    const askStore = () => this.#storeHealth.answer(fallback.lastContactMs || undefined)
    const { dropped, isClosed } = charger
    return limiterHealth({ ...this.#parts, live: policy.live, askStore, dropped, sawRequests, isClosed })
  }
}

/** Whoever asks for numbers means a tier that exists: those of the default would be taken for its own. */
function checkTier({ name, tiers }: CompiledRule, tier: string): void {
  if (tiers?.has(tier)) return
  const remedy = tiers ? `has ${noneCalled('tier', tier, tiers)}` : 'has no tiers, so leave it out'
  throw invalidOption('limiter.inspect.tier', tier, `the rule ${show(name)} ${remedy}`)
}
