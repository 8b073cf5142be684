import type { Limit } from '../../core/algorithms/limit.ts'
import { type LimitSet, limitSet, maxLimitsPerRule } from '../../core/engine/limit-set.ts'
import type { LimitsSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { type LimitDefaults, readLimits } from '../limit/limit-spec.ts'

/** Makes limit sets; equal ones are one object, so that a hundred thousand overrides need little memory. */
export class LimitSets {
  readonly #bySpec = new Map<string, LimitSet>()
  readonly #byLimits = new Map<string, LimitSet>()

  /** The set a spec asks for; undefined when there is a mistake in it, which was then reported. */
  read(spec: LimitsSpec, path: string, defaults: LimitDefaults, report: Report): LimitSet | undefined {
    const text = `${defaults.algorithm} ${defaults.burst} ${JSON.stringify(spec)}`
    const known = this.#bySpec.get(text)
    if (known) return known
    let ok = true
    const limits = readLimits(spec, path, defaults, (...issue) => {
      ok = false
      report(...issue)
    })
    if (!ok || limits.length > maxLimitsPerRule) return undefined
    const set = this.#shared(limits)
    this.#bySpec.set(text, set)
    return set
  }

  #shared(limits: readonly Limit[]): LimitSet {
    const text = JSON.stringify(limits)
    const set = this.#byLimits.get(text) ?? limitSet(limits)
    this.#byLimits.set(text, set)
    return set
  }
}
