import { maxPeriodMs } from '../core/algorithms/limit.ts'
import type { HoldKind } from '../core/algorithms/state.ts'
import { asyncDispose } from '../core/async-dispose.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, formatDuration, parseDuration } from '../core/duration.ts'
import type { ExtendAsk, SettleAsk } from '../core/engine/ask.ts'
import { changeCharge } from '../core/engine/charge.ts'
import { invalidOption } from '../core/errors.ts'
import type { RuleCharge } from '../policy/compiled-policy.ts'
import type { Store } from '../stores/store.ts'
import type { Decision } from './decision/decision.ts'
import { actualCosts } from './decision/units.ts'
import type { Admission, HoldHandle } from './limiter.ts'
import type { LossCheck, Noted } from './loss-check.ts'
import type { Renewals } from './renewals.ts'

/** How long a hold lives unless it says otherwise. */
export const defaultTtl = '30s'

/** What settling a hold needs to know of its policy. */
export interface Settlement {
  /** Whether a number of units is meant for a charge. */
  readonly isFor: (charge: RuleCharge) => boolean
  /** Throws for a name that no rule has. */
  readonly checkRule: (name: string) => void
}

/** What a hold has taken. */
export interface Held {
  readonly enforced: readonly RuleCharge[]
  /** What shadow rules took. They only observe: what the store does with it never affects the caller. */
  readonly shadow: readonly RuleCharge[]
}

export const nothing: Held = { enforced: [], shadow: [] }

type AskOf = (charges: readonly RuleCharge[]) => SettleAsk | ExtendAsk

/**
 * Asks the store about what is held; on how many subjects it was still open. Shadow rules count only without others.
 */
export async function askHeld(
  { enforced, shadow }: Held,
  askOf: AskOf,
  store: Pick<Store, 'decide'>,
  withinMs: number,
): Promise<number> {
  const open = async (charges: readonly RuleCharge[]): Promise<number> =>
    charges.length === 0 ? 0 : (await store.decide(askOf(charges), withinMs)).granted
  const watched = open(shadow).catch(() => 0)
  return enforced.length === 0 ? watched : open(enforced)
}

/** What the handle of a hold needs besides what it holds. */
export interface HoldContext {
  readonly id: string
  readonly kind: HoldKind
  readonly ttlMs: number
  /** When it was asked for, by the monotonic clock. */
  readonly askedMs: number
  readonly settlement: Settlement
  readonly store: Pick<Store, 'decide'>
  readonly withinMs: number
  readonly clock: Clock
  /** Undefined for a hold that its owner extends. */
  readonly renewals: Renewals | undefined
  /** Undefined for what the store does not have. */
  readonly losses: LossCheck | undefined
}

/** The handle of a hold that was asked for, allowed or not. */
export function holdHandle(decision: Decision, held: Held, context: HoldContext): HoldHandle {
  const { id, settlement, ttlMs, kind, renewals } = context
  const isOpen = decision.allowed && held.enforced.length + held.shadow.length > 0
  const hold = new OpenHold(isOpen, held, context)
  const cancel = () => hold.end(() => 0)
  const release = () => hold.end((charge) => charge.cost)
  const handle: HoldHandle = {
    id,
    decision,
    allowed: decision.allowed,
    settle: async (actual) => hold.end(actualCosts(actual, settlement.isFor, settlement.checkRule)),
    cancel,
    release,
    extend: async (ttl = ttlMs) => hold.extend(readTtl(ttl)),
    [asyncDispose]: async () => {
      // A store that fails must not hide the error that a block ended with; the hold then ends when it expires. By the
      // handle, so that it is not forgotten while somebody has one of its functions.
      await (kind === 'reserve' ? handle.cancel() : handle.release()).catch(() => false)
    },
  }
  if (isOpen) renewals?.whenForgotten(handle, hold.stop)
  return handle
}

/** Work that takes longer is given up. */
const longestMs = 24 * 3_600_000

/** What a handle has open, which is renewed until it ends. */
class OpenHold {
  readonly #held: Held
  readonly #context: HoldContext
  #isOpen: boolean
  /** Until when it cannot have expired. */
  #safeMs: number
  /** Whether it was ended by its id, or may have been: then what it cost was, or may have been, charged there. */
  #isEndedElsewhere = false
  /** Whether what it cost was charged without it, or may have been. */
  #isCharged = false
  /** By charge, for a reservation. */
  readonly #noted: ReadonlyMap<RuleCharge, Noted>
  /** Ends the renewing. */
  readonly stop: () => void

  constructor(isOpen: boolean, held: Held, context: HoldContext) {
    this.#held = held
    this.#context = context
    this.#isOpen = isOpen
    this.#safeMs = context.askedMs + context.ttlMs
    const noted = isOpen && context.kind === 'reserve' ? [...held.enforced, ...held.shadow] : []
    this.#noted = new Map(noted.map((charge) => [charge, { charge, mark: undefined }]))
    this.#note()
    this.stop = (isOpen && context.renewals?.add(context.ttlMs, () => this.#renew())) || (() => {})
  }

  async extend(ttlMs: number): Promise<boolean> {
    if (!this.#isOpen) return false
    const { id, clock } = this.#context
    const askedMs = clock.monotonic()
    const isOpen = (await this.#ask((charges) => ({ kind: 'extend', charges, id, ttlUs: ttlMs * 1000 }))) > 0
    if (isOpen) {
      this.#safeMs = askedMs + ttlMs
      this.#note()
    } else if (clock.monotonic() < this.#safeMs) this.#isEndedElsewhere = true
    return isOpen
  }

  async end(costOf: (charge: RuleCharge) => number): Promise<boolean> {
    if (!this.#isOpen) return false
    this.#isOpen = false
    // If this fails, only what is still to be charged is kept; everything else comes back when the hold expires.
    if (!this.#isOwed(costOf)) this.stop()
    try {
      const open = await this.#ask((charges) => settleAsk(charges, this.#context.id, costOf))
      const { enforced, shadow } = this.#held
      const isWhole = open >= (enforced.length || shadow.length)
      const isSettled = isWhole || (await this.#charge(costOf, open > 0)) || open > 0
      this.stop()
      return isSettled
    } catch (error) {
      // Nothing is lost by settling again later: the id makes it harmless.
      this.#isOpen = true
      this.#isEndedElsewhere = true
      throw error
    }
  }

  #isOwed(costOf: (charge: RuleCharge) => number): boolean {
    const { enforced, shadow } = this.#held
    return this.#context.kind === 'reserve' && [...enforced, ...shadow].some((charge) => costOf(charge) > 0)
  }

  #renew(): void {
    if (!this.#isOpen) return
    const { clock, askedMs, ttlMs } = this.#context
    if (clock.monotonic() - askedMs > longestMs) this.stop()
    else {
      // A store that fails is asked again next time, and the limiter reports it as an event.
      this.extend(ttlMs).then(
        (isOpen) => isOpen || this.stop(),
        () => {},
      )
    }
  }

  /** Notes what can be lost, now that the store has it. */
  #note(): void {
    for (const noted of this.#noted.values()) if (noted.mark === undefined) this.#context.losses?.note(noted)
  }

  /**
   * Charges what was used to a reservation that has expired, and so has given everything back, or that the store has
   * lost, perhaps a part of it.
   */
  async #charge(costOf: (charge: RuleCharge) => number, isPartlyOpen: boolean): Promise<boolean> {
    const { clock, losses, store, withinMs } = this.#context
    if (this.#isCharged) return false
    const isExpired = !isPartlyOpen && !this.#isEndedElsewhere && clock.monotonic() >= this.#safeMs
    const isDue = async (charge: RuleCharge): Promise<boolean> =>
      costOf(charge) > 0 && (isExpired || (await losses?.isLost(this.#noted.get(charge)!)) === true)
    const debit = async (charge: RuleCharge): Promise<unknown> => {
      const units = charge.limits.limits.map(() => costOf(charge))
      return store.decide({ kind: 'debit', charges: [charge], units }, withinMs)
    }
    const { enforced, shadow } = this.#held
    const watched = new Set(shadow)
    const all = [...this.#noted.keys()]
    const due = await Promise.all(all.map((charge) => isDue(charge).catch(orThrow(!watched.has(charge)))))
    const charged = all.filter((_, c) => due[c])
    this.#isCharged = charged.length > 0
    await Promise.all(charged.map((charge) => debit(charge).catch(orThrow(!watched.has(charge)))))
    return charged.length > 0 && (enforced.length === 0 || charged.some((charge) => !watched.has(charge)))
  }

  #ask(askOf: AskOf): Promise<number> {
    return askHeld(this.#held, askOf, this.#context.store, this.#context.withinMs)
  }
}

export function settleAsk(
  charges: readonly RuleCharge[],
  id: string,
  costOf: (charge: RuleCharge) => number,
): SettleAsk {
  return { kind: 'settle', id, charges: charges.map((charge) => changeCharge(charge, { cost: costOf(charge) })) }
}

export function readTtl(ttl: Duration): number {
  const ms = parseDuration(ttl, 'ttl')
  if (ms < 1 || ms > maxPeriodMs) throw invalidOption('ttl', ttl, `use 1 ms to ${formatDuration(maxPeriodMs)}`)
  return ms
}

export function checkId(id: string): string {
  if (typeof id !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(id))
    throw invalidOption('id', id, 'use 1 to 128 printable ASCII characters, such as a UUID')
  return id
}

/** The admission of a subject that holds a permit, unless it was denied. */
export function withHold(hold: HoldHandle): Admission {
  return { decision: hold.decision, hold: hold.decision.allowed ? hold : undefined }
}

/** What shadow rules fail with does not affect the caller. */
function orThrow(isEnforced: boolean): (error: unknown) => false {
  return (error) => {
    if (isEnforced) throw error
    return false
  }
}
