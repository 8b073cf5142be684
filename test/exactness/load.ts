import type { Charge } from '../../packages/sluice/src/core/engine/ask.ts'
import { compilePolicy } from '../../packages/sluice/src/policy/compile/compile-policy.ts'

/** What every process does at the same time. */
export interface Load {
  /** Separates the subjects from those of other loads. */
  readonly name: string
  readonly subjects: number
  readonly amount: number
  readonly cost: number
  /** How many subjects each ask is about. */
  readonly perAsk: number
  /** How many asks each process makes, and how many of them at once. */
  readonly asks: number
  readonly inFlight: number
}

export interface Outcome {
  /** Units admitted, by subject. */
  readonly admitted: number[]
  allowed: number
  denied: number
  readonly failed: string[]
}

/** More than a busy machine needs: this is about counts, not about time. */
export const withinMs = 20_000
/** A process without processor time for a while must not consider Redis frozen. */
export const patience = { socketTimeout: 10_000 }

const compiled = new Map<string, ReturnType<typeof compileRule>>()

function compileRule(load: Load) {
  const limits = [{ amount: load.amount, per: '1d' }]
  const rule = compilePolicy({ service: 'exactness', rules: [{ name: load.name, limits }] }).rules[0]!
  return { rule, limits: rule.limitsFor('', undefined, Date.now()) }
}

export function chargeOf(load: Load, place: number): Charge {
  let known = compiled.get(load.name)
  if (known === undefined) {
    known = compileRule(load)
    compiled.set(load.name, known)
  }
  return { ...known, subject: `s${place}`, cost: load.cost }
}
