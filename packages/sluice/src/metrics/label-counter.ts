type Branch = Map<string, Branch | { sum: number }>

/**
 * Counts by label values. They are looked up one after the other, so that adding builds no text: all of them are
 * strings that live on anyway, whose hashes are known.
 */
export class LabelCounter {
  readonly #names: readonly string[]
  readonly #root: Branch = new Map()

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** Adds to the sum of these label values, one for each name. */
  add(value: number, ...values: readonly string[]): void {
    const last = values.length - 1
    let branch = this.#root
    for (let i = 0; i < last; i++) {
      let next = branch.get(values[i]!) as Branch | undefined
      if (next === undefined) {
        next = new Map()
        branch.set(values[i]!, next)
      }
      branch = next
    }
    const leaf = branch.get(values[last]!) as { sum: number } | undefined
    if (leaf === undefined) branch.set(values[last]!, { sum: value })
    else leaf.sum += value
  }

  /** Removes the sums whose first label values are these. */
  forget(values: readonly string[]): void {
    let branch: Branch | undefined = this.#root
    for (const value of values.slice(0, -1)) branch = branch?.get(value) as Branch | undefined
    branch?.delete(values.at(-1)!)
  }

  *[Symbol.iterator](): Generator<{ readonly labels: Record<string, string>; readonly value: number }> {
    yield* this.#below(this.#root, 0, {})
  }

  *#below(
    branch: Branch,
    depth: number,
    above: Record<string, string>,
  ): Generator<{ labels: Record<string, string>; value: number }> {
    for (const [value, next] of branch) {
      const labels = { ...above, [this.#names[depth]!]: value }
      if (next instanceof Map) yield* this.#below(next, depth + 1, labels)
      else yield { labels, value: next.sum }
    }
  }
}
