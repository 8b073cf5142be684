import { didYouMean } from '../did-you-mean.ts'
import { invalidOption } from '../errors.ts'

type Listener = (event: never) => void

/**
 * Typed events of one part. Without listeners, emitting costs a map lookup; `has` lets a hot path skip building the
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
  readonly #names: readonly string[] | undefined

  /** With the names of all events, others are refused. */
  constructor(names?: Readonly<Record<keyof Events, true>>) {
    this.#names = names && Object.keys(names)
  }

  /** Whether this event has listeners. */
  has(name: keyof Events): boolean {
    return this.#listeners.size > 0 && this.#listeners.has(name)
  }

  /** Adds a listener; the returned function removes it. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    if (this.#names?.includes(name as string) === false) {
      const remedy = `${didYouMean(String(name), this.#names)}there is no such event; known are ${this.#names.join(', ')}`
      throw invalidOption('on event', name, remedy)
    }
    if (typeof listener !== 'function') throw invalidOption('on listener', listener, 'pass a function')
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener])
    return () => {
      const left = (this.#listeners.get(name) ?? []).filter((other) => other !== listener)
      if (left.length > 0) this.#listeners.set(name, left)
      else this.#listeners.delete(name)
    }
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) callListener<never>(listener, event as never)
  }
}

/**
 * Calls a listener. One that throws must not make the call fail that it hears of: its error surfaces as an unhandled
 * rejection of its own.
 */
export function callListener<Event>(listener: (event: Event) => void, event: Event): void {
  try {
    listener(event)
  } catch (error) {
    void Promise.reject(error)
  }
}
