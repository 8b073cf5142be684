import assert from 'node:assert/strict'
import type { LimitAlgorithm } from '../../core/algorithms/limit.ts'
import type { HoldKind } from '../../core/algorithms/state.ts'
import type { Answer, Charge, HoldRequest, LimitStatus } from '../../core/engine/ask.ts'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import type { LimitSpec, RuleSpec } from '../../policy/document/document.ts'
import type { Store, StoreAbilities } from '../../stores/store.ts'
import { waitFor } from '../wait-for.ts'

/** Something that every store must do, and how to see that this one does. */
export interface StoreCase {
  readonly name: string
  check(bench: StoreBench): Promise<void>
}

/** Thrown by a case that needs what the store was said not to have. */
export class NotHere extends Error {
  override readonly name = 'NotHere'
}

/** A running store under test. */
export interface StoreUnderTest {
  readonly store: Store
  /** Moves the store's time, where it is not the real one. */
  advance?(ms: number): Promise<void> | void
  stop(): Promise<void>
}

export type Limits = NonNullable<RuleSpec['limits']>

/** Far more than a store needs, so that a busy machine does not fail a case that is not about time. */
const withinMs = 10_000
let benches = 0

/** What a store was said to have. */
export interface StoreFeatures {
  readonly algorithms: readonly LimitAlgorithm[]
  readonly holds: boolean
  readonly abilities: readonly (keyof StoreAbilities)[]
}

/** A store with what the cases have in common: subjects of their own, and short words for asks. */
export class StoreBench {
  readonly store: Store
  readonly #features: StoreFeatures
  readonly #advance: StoreUnderTest['advance']
  readonly #service = `conformance-${process.pid}-${++benches}`
  #made = 0

  constructor({ store, advance }: StoreUnderTest, features: StoreFeatures) {
    this.store = store
    this.#features = features
    this.#advance = advance
  }

  /** The abilities that the store was said to declare. */
  get abilities(): readonly (keyof StoreAbilities)[] {
    return this.#features.abilities
  }

  /** What the store declares under a name; skips the case if the store was said not to have it. */
  ability<Name extends keyof StoreAbilities>(name: Name): NonNullable<StoreAbilities[Name]> {
    if (!this.abilities.includes(name)) throw new NotHere(`the store was not said to have the ability ${name}`)
    const ability = this.store.abilities?.[name]
    assert.ok(ability !== undefined, `the store declares ${name}`)
    return ability
  }

  /** A unique text: a subject, or the id of a hold. */
  fresh(): string {
    return `s${++this.#made}`
  }

  /**
   * A charge on a subject of a rule. The same `rule` with other limits is a changed policy. With `of`, two classes
   * share the limit, `a` with 70% and `b` with 30%.
   */
  charge(limits: Limits, options: { subject?: string; cost?: number; rule?: string; of?: 'a' | 'b' } = {}): Charge {
    const { subject = this.fresh(), cost = 1, rule = 'rule', of } = options
    const shares = { by: 'context.class', of: { a: '70%', b: '30%' }, default: 'b' }
    const spec = { service: this.#service, rules: [{ name: rule, limits, ...(of && { key: 'ip', shares }) }] }
    const compiled = compilePolicy(spec).rules[0]!
    const made = compiled.limitsFor(subject, undefined, Date.now(), of)
    const missing = made.limits.find((limit) => !this.#has(limit.algorithm))
    if (missing !== undefined) throw new NotHere(`the store has no ${missing.algorithm}`)
    return { rule: compiled, subject, limits: made, cost }
  }

  take(charges: Charge | readonly Charge[], options: { copies?: number; hold?: HoldRequest } = {}): Promise<Answer> {
    return this.#decide({ kind: 'take', charges: list(charges), copies: options.copies ?? 1, hold: options.hold })
  }

  peek(charges: Charge | readonly Charge[]): Promise<Answer> {
    return this.#decide({ kind: 'peek', charges: list(charges) })
  }

  settle(charges: Charge | readonly Charge[], id: string): Promise<Answer> {
    return this.#decide({ kind: 'settle', charges: list(charges), id })
  }

  extend(charges: Charge | readonly Charge[], id: string, ttlMs: number): Promise<Answer> {
    return this.#decide({ kind: 'extend', charges: list(charges), id, ttlUs: ttlMs * 1000 })
  }

  refund(charges: Charge | readonly Charge[], takenUs?: number): Promise<Answer> {
    return this.#decide({ kind: 'refund', charges: list(charges), takenUs })
  }

  reset(charges: Charge | readonly Charge[]): Promise<Answer> {
    return this.#decide({ kind: 'reset', charges: list(charges) })
  }

  debit(charge: Charge, units: readonly number[]): Promise<Answer> {
    return this.#decide({ kind: 'debit', charges: [charge], units })
  }

  hold(kind: HoldKind, ttlMs = 60_000, id: string = this.fresh()): HoldRequest {
    if (!this.#features.holds) throw new NotHere('the store has no holds')
    return { kind, ttlUs: ttlMs * 1000, id }
  }

  /** A hold of places only, as admitting a request asks for. */
  places(): HoldRequest {
    return { ...this.hold('acquire'), permitsOnly: true }
  }

  /** What is left of every limit of a charge. */
  async left(charge: Charge): Promise<number[]> {
    const answer = await this.peek({ ...charge, cost: 0 })
    return answer.statuses[0]!.map((status) => status.remaining)
  }

  /** Spends units one by one, all of which must pass. */
  async use(charge: Charge, times: number): Promise<void> {
    for (let i = 0; i < times; i++) assert.equal((await this.take(charge)).allowed, true, `take ${i + 1} of ${times}`)
  }

  /** Lets so much of the store's time go by. */
  async elapse(ms: number): Promise<void> {
    if (this.#advance) {
      await this.#advance(ms)
      return
    }
    const end = performance.now() + ms
    await waitFor(() => performance.now() >= end, { timeoutMs: ms + 10_000, describe: `${ms} ms to go by` })
  }

  /** Of several limits under one name, those by algorithms that the store has. */
  among(limits: Readonly<Record<string, Limits>>): Limits[] {
    return Object.values(limits).filter((each) =>
      Object.values(each).every((limit) => this.#has((limit as LimitSpec).algorithm ?? 'fixed-window')),
    )
  }

  #has(algorithm: LimitAlgorithm): boolean {
    return this.#features.algorithms.includes(algorithm)
  }

  async #decide(ask: Parameters<Store['decide']>[0]): Promise<Answer> {
    return this.store.decide(ask, withinMs)
  }
}

/** The status of the only limit of the only charge. */
export function only(answer: Answer): LimitStatus {
  assert.equal(answer.statuses.length, 1)
  assert.equal(answer.statuses[0]!.length, 1)
  return answer.statuses[0]![0]!
}

/** The same charge with another cost. */
export function costing(charge: Charge, cost: number): Charge {
  return { ...charge, cost }
}

function list(charges: Charge | readonly Charge[]): readonly Charge[] {
  return Array.isArray(charges) ? charges : [charges as Charge]
}
