import type { LimiterEvents } from './events.ts'

type Listener = (event: never) => void

/** Where everything is announced. Unwatched decisions are not even written down. */
export class Emitter {
  readonly #listeners = new Map<keyof LimiterEvents, readonly Listener[]>()

  /** Whether anybody wants every single decision. */
  watchesDecisions = false

  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener])
    this.watchesDecisions = this.#listeners.has('decision')
    return () => {
      const left = (this.#listeners.get(name) ?? []).filter((other) => other !== listener)
      if (left.length > 0) this.#listeners.set(name, left)
      else this.#listeners.delete(name)
      this.watchesDecisions = this.#listeners.has('decision')
    }
  }

  /** A listener that throws must not make a decision fail: its error surfaces as an uncaught one, on its own. */
  emit<Name extends keyof LimiterEvents>(name: Name, event: LimiterEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        listener(event as never)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}
