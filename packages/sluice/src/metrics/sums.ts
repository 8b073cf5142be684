/** Counts by labels. Adding is one look-up; the text of labels is only made when somebody asks. */
export class Sums {
  readonly #names: readonly string[]
  readonly #sums = new Map<string, { readonly labels: Record<string, string>; value: number }>()

  constructor(names: readonly string[]) {
    this.#names = names
  }

  add(value: number, ...values: readonly string[]): void {
    // No label value holds a line feed: they are names from the policy and fixed words.
    const key = values.length === 1 ? values[0]! : values.join('\n')
    const sum = this.#sums.get(key)
    if (sum !== undefined) sum.value += value
    else this.#sums.set(key, { labels: Object.fromEntries(this.#names.map((name, i) => [name, values[i]!])), value })
  }

  [Symbol.iterator](): Iterator<{ readonly labels: Record<string, string>; readonly value: number }> {
    return this.#sums.values()
  }
}
