type Listener = (event: never) => void

/**
 * Typed events of one part. Emitting costs a map lookup while nobody listens; `has` lets a hot path skip building the
 * event.
 *
 * @example
 * const events = new Emitter<{ opened: { readonly atMs: number } }>()
 * const stop = events.on('opened', ({ atMs }) => console.log(atMs))
 * events.emit('opened', { atMs: 5 })
 * stop()
 */
export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, readonly Listener[]>()

  /** Whether anybody listens to this event. */
  has(name: keyof Events): boolean {
    return this.#listeners.size > 0 && this.#listeners.has(name)
  }

  /** Adds a listener; the returned function removes it. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener])
    return () => {
      const left = (this.#listeners.get(name) ?? []).filter((other) => other !== listener)
      if (left.length > 0) this.#listeners.set(name, left)
      else this.#listeners.delete(name)
    }
  }

  /**
   * A listener that throws must not make the emitting call fail: its error surfaces as an unhandled rejection of its
   * own.
   */
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        listener(event as never)
      } catch (error) {
        void Promise.reject(error)
      }
    }
  }
}
