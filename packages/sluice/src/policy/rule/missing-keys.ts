import { warnOnce } from '../../core/observe/warn-once.ts'

/** So many must have lacked the key before anything is said. */
const enough = 100

/**
 * Counts how many requests that a rule matches lack its key. They pass unlimited, which is right for some policies and
 * a mistake in a selector in others, so most of them lacking it is warned about, once.
 */
export class MissingKeys {
  readonly #rule: string
  readonly #warn = warnOnce('SLUICE_KEY_MISSING')
  #found = 0
  #missing = 0

  constructor(rule: string) {
    this.#rule = rule
  }

  found(): void {
    this.#found += 1
  }

  missed(): void {
    this.#missing += 1
    if (this.#missing < enough || this.#missing <= this.#found) return
    const all = this.#missing + this.#found
    this.#warn(
      `The rule ${this.#rule} did not limit ${this.#missing} of ${all} requests that it matches, as they lack its key. ` +
        'Check the selectors of the key, or write onMissing: deny, or onMissing: skip if that is meant.',
    )
  }
}
