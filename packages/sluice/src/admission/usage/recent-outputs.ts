/** What is assumed of a model before it has answered, and at least: about a paragraph. */
export const leastOutput = 256
const kept = 20
const maxModels = 200

/** How long the last answers of each model were, to expect the next. */
export class RecentOutputs {
  readonly #least: number
  readonly #models = new Map<string, number[]>()

  constructor(least: number = leastOutput) {
    this.#least = least
  }

  record(model: string, tokens: number): void {
    const outputs = this.#models.get(model) ?? []
    // The model that was not used for longest makes room.
    this.#models.delete(model)
    if (this.#models.size >= maxModels) this.#models.delete(this.#models.keys().next().value!)
    this.#models.set(model, [...outputs.slice(1 - kept), tokens])
  }

  /** Nine of ten of the last answers were no longer; at least the minimum. */
  expected(model: string): number {
    const outputs = [...(this.#models.get(model) ?? [])].sort((a, b) => a - b)
    return Math.max(this.#least, outputs[Math.ceil(outputs.length * 0.9) - 1] ?? 0)
  }
}
