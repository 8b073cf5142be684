import { maxPeriodMs } from '../core/algorithms/limit.ts'
import type { HoldKind } from '../core/algorithms/state.ts'
import { asyncDispose } from '../core/async-dispose.ts'
import { type Duration, formatDuration, parseDuration } from '../core/duration.ts'
import type { ExtendAsk, SettleAsk } from '../core/engine/ask.ts'
import { changeCharge } from '../core/engine/charge.ts'
import { invalidOption } from '../core/errors.ts'
import type { Store } from '../stores/store.ts'
import type { Decision } from './decision/decision.ts'
import type { RuleCharge } from './decision/rule-charge.ts'
import { actualCosts } from './decision/units.ts'
import type { Admission, HoldHandle } from './limiter.ts'

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

/** Asks the store about what is held; true when it was still open. */
export async function askHeld(
  { enforced, shadow }: Held,
  askOf: AskOf,
  store: Pick<Store, 'decide'>,
  withinMs: number,
): Promise<boolean> {
  const done = async (charges: readonly RuleCharge[]): Promise<boolean> =>
    charges.length > 0 && (await store.decide(askOf(charges), withinMs)).granted > 0
  const watched = done(shadow).catch(() => false)
  return (await done(enforced)) || (enforced.length === 0 && (await watched))
}

/** The handle of a hold that was asked for, allowed or not. */
export function holdHandle(
  id: string,
  decision: Decision,
  { enforced, shadow }: Held,
  settlement: Settlement,
  ttlMs: number,
  store: Pick<Store, 'decide'>,
  withinMs: number,
  kind: HoldKind,
): HoldHandle {
  let open = decision.allowed && enforced.length + shadow.length > 0
  const ask = (askOf: AskOf): Promise<boolean> => askHeld({ enforced, shadow }, askOf, store, withinMs)
  const end = async (costOf: (charge: RuleCharge) => number): Promise<boolean> => {
    if (!open) return false
    open = false
    try {
      return await ask((charges) => settleAsk(charges, id, costOf))
    } catch (error) {
      // Nothing is lost by settling again later: the id makes it harmless.
      open = true
      throw error
    }
  }
  const cancel = () => end(() => 0)
  const release = () => end((charge) => charge.cost)
  return {
    id,
    decision,
    allowed: decision.allowed,
    settle: async (actual) => end(actualCosts(actual, settlement.isFor, settlement.checkRule)),
    cancel,
    release,
    extend: async (ttl = ttlMs) => {
      const ttlUs = readTtl(ttl) * 1000
      return open && (await ask((charges) => ({ kind: 'extend', charges, id, ttlUs })))
    },
    [asyncDispose]: async () => {
      // A store that fails must not hide the error that a block ended with; the hold then ends when it expires.
      await (kind === 'reserve' ? cancel() : release()).catch(() => false)
    },
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

export function withoutHold(decision: Decision): Admission {
  return { decision, hold: undefined }
}
