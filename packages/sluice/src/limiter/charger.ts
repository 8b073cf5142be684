import type { Clock } from '../core/clock.ts'
import { SluiceError, show } from '../core/errors.ts'
import type { Key } from '../core/key.ts'
import type { CompiledPolicy, CompiledRule, RuleCharge } from '../policy/compiled-policy.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import { withinTime } from '../runtime/within-time.ts'
import { type Charges, chargesOfKey, chargesOfRequest, chargeTo, isRequest, noCharges } from './decision/charges.ts'
import { RuleNames } from './decision/rule-names.ts'
import type { Subject, TakeOptions } from './limiter.ts'

export async function asMade<Made>(made: Made): Promise<Made> {
  return made
}

/** Turns keys and requests into charges under the policy in force. */
export class Charger {
  readonly #live: LivePolicy
  readonly #deadlineMs: number
  readonly #clock: Clock
  readonly #names = new RuleNames()
  /** What waits for lookups. */
  readonly #waiting = new Set<Promise<unknown>>()
  #closed = false

  constructor(live: LivePolicy, deadlineMs: number, clock: Clock) {
    this.#live = live
    this.#deadlineMs = deadlineMs
    this.#clock = clock
  }

  /** The policy in force. */
  get policy(): CompiledPolicy {
    if (this.#closed)
      throw new SluiceError('SLUICE_CLOSED', 'The limiter is closed; make a new one with createLimiter.')
    return this.#live.current
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Resolves when all that waits for lookups goes on, at the latest after a deadline. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#waiting)
  }

  /** Names that code asked for and that the policy in force no longer has. */
  get dropped(): ReadonlySet<string> {
    return this.#names.dropped
  }

  /** The rule that is named, or meant; undefined when a newer version of the policy has dropped it. */
  rule(policy: CompiledPolicy, name: string | undefined): CompiledRule | undefined {
    return this.#names.find(policy, name)
  }

  chargesOf(policy: CompiledPolicy, subject: Subject, options: TakeOptions | undefined): Charges {
    if (isRequest(subject)) {
      if (options?.rule === undefined) return chargesOfRequest(policy, subject, options?.cost, this.#clock)
      const rule = this.rule(policy, options.rule)
      return rule === undefined ? noCharges : chargesOfRequest(policy, subject, options.cost, this.#clock, rule.name)
    }
    return chargesOfKey(this.rule(policy, options?.rule), subject, options, this.#clock)
  }

  /** The charge for changing or reading what a rule has counted; the rule must exist. */
  async chargeNamed(key: Key, options: TakeOptions | undefined): Promise<RuleCharge> {
    const rule = this.rule(this.policy, options?.rule)
    if (rule !== undefined) return this.known(() => chargeTo(rule, key, options, this.#clock), asMade)
    throw new SluiceError('SLUICE_UNKNOWN_RULE', `The policy no longer has the rule ${show(options?.rule)}.`)
  }

  /** Makes charges and goes on with them: at once, or when tiers that were not known were looked up, in time. */
  known<Made, Result>(make: () => Made, goOn: (made: Made) => Promise<Result>): Promise<Result> {
    const made = make()
    const { lookups } = this.#live.current
    const pending = lookups?.takePending()
    if (pending === undefined) return goOn(made)
    const late = (): undefined => undefined
    const inTime = withinTime(pending, { ms: this.#deadlineMs, clock: this.#clock, late }).catch(late)
    const decided = inTime.then(() => {
      this.#waiting.delete(decided)
      const again = make()
      // What is not known by now has the default.
      lookups!.takePending()
      return goOn(again)
    })
    this.#waiting.add(decided)
    return decided
  }
}
