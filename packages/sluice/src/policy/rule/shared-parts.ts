import type { Limit } from '../../core/algorithms/limit.ts'
import { fixedLimits, limitSet } from '../../core/engine/any-limit-set.ts'
import type { BlockTerms } from '../../core/engine/block.ts'
import { type LimitSet, maxLimitsPerRule } from '../../core/engine/limit-set.ts'
import type { KeySpec, LimitsSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { type LimitDefaults, readLimits } from '../limit/limit-spec.ts'
import { withPace } from '../limit/pace-spec.ts'
import type { RuleKey } from './rule-key.ts'

/**
 * Parts of rules that say the same, made once. A thousand rules usually have a handful of keys and methods between
 * them; shared, they stay in the processor's cache, which is most of what matching many rules costs.
 */
export class SharedParts {
  readonly #keys = new Map<string, RuleKey>()
  readonly #methods = new Map<string, ReadonlySet<string>>()

  /** The key of a spec. Functions are compared by identity, so a key with one is not shared. */
  key(spec: KeySpec, report: Report, make: (report: Report) => RuleKey): RuleKey {
    let whole = true
    const id = JSON.stringify(spec, (_, value: unknown) => {
      if (typeof value === 'function') whole = false
      return value
    })
    const known = whole ? this.#keys.get(id) : undefined
    if (known) return known
    const key = make((...issue) => {
      whole = false
      report(...issue)
    })
    if (whole) this.#keys.set(id, key)
    return key
  }

  methods(methods: ReadonlySet<string>): ReadonlySet<string> {
    const id = [...methods].join()
    const known = this.#methods.get(id) ?? methods
    this.#methods.set(id, known)
    return known
  }
}

/** What a rule says for all its sets. */
export interface SetDefaults extends LimitDefaults {
  readonly block?: BlockTerms | undefined
}

/** Makes limit sets; equal ones are one object, so that a hundred thousand overrides need little memory. */
export class LimitSets {
  readonly #bySpec = new Map<string, LimitSet>()
  readonly #byLimits = new Map<string, LimitSet>()

  /** The set of a tier, each of whose specs extends those before it. */
  readTier(specs: readonly LimitsSpec[], path: string, defaults: SetDefaults, report: Report): LimitSet | undefined {
    const [only, ...more] = specs
    if (more.length === 0) return only && this.read(only, path, defaults, report)
    const sets = specs.map((spec) => this.read(spec, path, defaults, report))
    if (sets.includes(undefined)) return undefined
    const byName = new Map(sets.flatMap((set) => set!.limits).map((limit) => [limit.name, limit]))
    if (byName.size <= maxLimitsPerRule) return this.#shared([...byName.values()], defaults.block)
    report(path, specs.at(-1), `use at most ${maxLimitsPerRule} limits, with those of the tier that it extends`)
    return undefined
  }

  /** The set a spec asks for; undefined when there is a mistake in it, which was then reported. */
  read(spec: LimitsSpec, path: string, defaults: SetDefaults, report: Report): LimitSet | undefined {
    if (typeof spec === 'string') return fixedLimits[spec]
    const { algorithm, burst, block } = defaults
    const text = `${algorithm} ${burst} ${JSON.stringify(spec)} ${JSON.stringify(block)}`
    const known = this.#bySpec.get(text)
    if (known) return known
    let ok = true
    const wrong: Report = (...issue) => {
      ok = false
      report(...issue)
    }
    const limits = readLimits(spec, path, defaults, wrong, withPace)
    if (!ok || limits.length > maxLimitsPerRule) return undefined
    const set = this.#shared(limits, block)
    this.#bySpec.set(text, set)
    return set
  }

  #shared(limits: readonly Limit[], block: BlockTerms | undefined): LimitSet {
    const text = JSON.stringify([limits, block])
    const set = this.#byLimits.get(text) ?? limitSet(limits, undefined, block)
    this.#byLimits.set(text, set)
    return set
  }
}
