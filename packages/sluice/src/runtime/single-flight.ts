interface Flight<T> {
  readonly result: Promise<T>
  next: Promise<T> | undefined
}

/** Runs one piece of work for each key at a time. */
export class SingleFlight<Key, T> {
  readonly #flights = new Map<Key, Flight<T>>()

  /** Shares the work that is in flight, however long ago it began. */
  join(key: Key, work: () => Promise<T>): Promise<T> {
    return this.#flights.get(key)?.result ?? this.#start(key, work)
  }

  /**
   * Shares only work that begins after this call, for callers that need the present state. Work in flight may have read
   * it before.
   */
  startLater(key: Key, work: () => Promise<T>): Promise<T> {
    const flight = this.#flights.get(key)
    if (flight === undefined) return this.#start(key, work)
    flight.next ??= flight.result.then(ignore, ignore).then(() => this.#start(key, work))
    return flight.next
  }

  #start(key: Key, work: () => Promise<T>): Promise<T> {
    const flight: Flight<T> = { result: work(), next: undefined }
    this.#flights.set(key, flight)
    const end = (): void => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key)
    }
    flight.result.then(end, end)
    return flight.result
  }
}

function ignore(): void {}
