/** Of how many batches it is remembered whether they were stored. */
const mostBatches = 10_000

/**
 * Keeps batches in order when a sender has several in flight: each names the last event of the batch before it. Only
 * those of this process are known; of any other the order cannot be kept, and the sender has to send it again.
 */
export class BatchOrder {
  /** By the id of their last event, in the order of arrival: whether they were stored, as soon as that is known. */
  readonly #batches = new Map<string, Promise<boolean>>()

  /** Stores a batch after the one that ends with `after`; undefined, and nothing is stored, if that one was not. */
  async run<T>(
    after: string | undefined,
    last: string | undefined,
    store: () => Promise<T>,
    isStored: (result: T) => boolean,
  ): Promise<T | undefined> {
    const former = after === undefined ? Promise.resolve(true) : this.#batches.get(after)
    const result = (async () => ((await former) === true ? store() : undefined))()
    if (last !== undefined) {
      this.#batches.delete(last)
      const stored = result.then((value) => value !== undefined && isStored(value))
      this.#batches.set(
        last,
        stored.catch(() => false),
      )
      if (this.#batches.size > mostBatches) this.#batches.delete(this.#batches.keys().next().value!)
    }
    return result
  }
}
