import type { Answer, Ask, Charge } from '../core/engine/ask.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { Store } from '../stores/store.ts'
import { asMade } from './charger.ts'
import { type Charges, needsPermit, whileWaiting } from './decision/charges.ts'
import { asItIs, withoutHold } from './decision/decider.ts'
import type { Decision } from './decision/decision.ts'
import { toDecision } from './decision/to-decision.ts'
import { actualCosts, type Units } from './decision/units.ts'
import { askHeld, checkId, settleAsk, withHold } from './hold.ts'
import { Holder } from './holder.ts'
import type { Admission, HoldHandle, HoldOptions, Subject, TakeOptions, WaitOptions } from './limiter.ts'
import type { CallParts } from './limiter-parts.ts'
import { SlowDown } from './wait/slow-down.ts'
import { Waiting } from './wait/waiting.ts'

/** The calls that hold what they take, or wait until they can. */
export class HeldCalls {
  readonly #parts: CallParts
  readonly #holder: Holder
  readonly #waiting: Waiting
  readonly #slowDown: SlowDown
  /** The store, for what may give units or permits back, for which others may be waiting. */
  readonly giving: Pick<Store, 'decide'> = { decide: (ask, withinMs) => this.#give(ask, withinMs) }

  constructor(parts: CallParts) {
    const { policy, charger, decider, inProcess, events } = parts
    this.#parts = parts
    this.#holder = new Holder({ ...parts, store: this.giving })
    this.#waiting = new Waiting({
      ...parts,
      // Workers have no random numbers yet when they make a limiter.
      process: inProcess ? '' : crypto.randomUUID(),
      isDated: () => policy.live.current.dated,
      decide: (charges) => decider.decide(charger.policy, charges, asItIs),
      decisionOf: (charges: readonly Charge[], answer: Answer) =>
        toDecision(charges, answer, policy.live.current.version),
      announce: (decision, { enforced }, tookMs) => decider.announce(decision, enforced, tookMs),
    })
    this.#slowDown = new SlowDown(parts)
    events.on('policyLoaded', () => this.#waiting.wakeAll())
  }

  /** How many wait now. */
  get count(): number {
    return this.#waiting.count
  }

  async wait(subject: Subject, options: WaitOptions): Promise<Decision> {
    const { charger, decider } = this.#parts
    const charges = await this.#followedCharges(subject, options)
    const { enforced, shadow } = charges()
    const decide = () => decider.decide(charger.policy, charges(), asItIs)
    // What is one charge is spent together with others that wait for the same.
    const isOne = enforced.length === 1 && shadow.length === 0
    const decision = await this.#waiting.enter(charges, options, isOne ? undefined : decide)
    return this.#slowDown.after(charges(), decision, options.signal)
  }

  /** Admits what may wait for its turn, or is slowed down. */
  admit(subject: Subject, options: HoldOptions | undefined): Promise<Admission> {
    const { charger } = this.#parts
    if (options?.maxWait === undefined) {
      const { policy } = charger
      const chargesOf = (): Charges => charger.chargesOf(policy, subject, options)
      return charger.known(chargesOf, (charges) => this.#admitSlowly(policy, charges, options))
    }
    const admit = (charges: Charges) => this.#admit(charger.policy, charges, options)
    return this.#waitTo(subject, options, admit, withoutHold)
  }

  admitWithPermit(policy: CompiledPolicy, charges: Charges, options: HoldOptions | undefined): Promise<Admission> {
    return this.#holder.hold(policy, charges, options, 'acquire', true).then(withHold)
  }

  async hold(subject: Subject, options: HoldOptions | undefined, kind: 'reserve' | 'acquire'): Promise<HoldHandle> {
    const { charger } = this.#parts
    const take = (charges: Charges) => this.#holder.hold(charger.policy, charges, options, kind, false)
    if (options?.maxWait === undefined) {
      const takeSlowly = async (charges: Charges) => {
        await this.#slowDown.before(charges, options?.signal)
        return take(charges)
      }
      return charger.known(() => charger.chargesOf(charger.policy, subject, options), takeSlowly)
    }
    return this.#waitTo(subject, options, take, (decision) => this.#holder.refused(options, decision))
  }

  async settle(subject: Subject, id: string, actual: Units, options: TakeOptions | undefined): Promise<boolean> {
    const { charger, deadlineMs } = this.#parts
    const { policy } = charger
    const charges = await charger.known(() => charger.chargesOf(policy, subject, options), asMade)
    const { isFor, checkRule } = this.#holder.settlement(policy, charges)
    const costOf = actualCosts(actual, isFor, checkRule)
    checkId(id)
    const open = await askHeld(charges, (held) => settleAsk(held, id, costOf), this.giving, deadlineMs)
    return open > 0
  }

  async close(): Promise<void> {
    await this.#waiting.close()
    this.#holder.close()
  }

  #admit(policy: CompiledPolicy, charges: Charges, options: HoldOptions | undefined): Promise<Admission> {
    if (charges.enforced.some(needsPermit) || charges.shadow.some(needsPermit))
      return this.admitWithPermit(policy, charges, options)
    return this.#parts.decider.decide(policy, charges, withoutHold)
  }

  async #admitSlowly(policy: CompiledPolicy, charges: Charges, options: HoldOptions | undefined): Promise<Admission> {
    const isHeld = charges.enforced.some(needsPermit)
    if (isHeld) await this.#slowDown.before(charges, options?.signal)
    const admission = await this.#admit(policy, charges, options)
    if (!isHeld) await this.#slowDown.after(charges, admission.decision, options?.signal)
    return admission
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
    const { charger, clock } = this.#parts
    const chargesNow = (): Charges => charger.chargesOf(charger.policy, subject, options)
    if (charger.policy.lookups) await charger.known(chargesNow, asMade)
    let known: { readonly policy: CompiledPolicy; readonly atUs: number; readonly charges: Charges } | undefined
    return () => {
      const { policy } = charger
      const atUs = policy.dated ? clock.now() : 0
      if (known?.policy !== policy || known.atUs !== atUs)
        known = { policy, atUs, charges: whileWaiting(charger.chargesOf(policy, subject, options)) }
      return known.charges
    }
  }

  async #give(ask: Ask, withinMs: number): Promise<Answer> {
    const answer = await this.#parts.store.decide(ask, withinMs)
    this.#waiting.wake(ask.charges)
    return answer
  }
}
