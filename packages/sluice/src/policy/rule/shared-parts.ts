import type { KeySpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
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
