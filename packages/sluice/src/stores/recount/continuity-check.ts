import type { Clock } from '../../core/clock.ts'
import type { Charge } from '../../core/engine/ask.ts'
import type { Continuity } from '../store.ts'

/**
 * How old an answer may become before it is asked for again in the background: a wiped server keeps its connections.
 */
const renewMs = 1000

/** A store that cannot tell may have lost everything a moment ago: its subjects are recounted once by each process. */
const unknown: Continuity = { placeOf: () => 0, connection: () => 0, intactSinceUs: () => Infinity }

interface Checked {
  readonly sinceUs: number
  readonly connection: number
  readonly atMs: number
}

/** Remembers since when each part of a store has been intact, and asks anew when that may have changed. */
export class ContinuityCheck {
  readonly #store: Continuity
  readonly #clock: Clock
  readonly #checked = new Map<number, Checked>()
  readonly #checking = new Map<number, Promise<number>>()

  constructor(store: Continuity | undefined, clock: Clock) {
    this.#store = store ?? unknown
    this.#clock = clock
  }

  /** Since when the store has been intact for a subject, if that is known of the present connection. */
  known(charge: Charge): number | undefined {
    const checked = this.#checked.get(this.#store.placeOf(charge))
    return checked?.connection === this.#store.connection() ? checked.sinceUs : undefined
  }

  /** Asks anew in the background what was last asked a while ago. */
  renew(charge: Charge, nowMs: number, withinMs: number): void {
    const place = this.#store.placeOf(charge)
    const checked = this.#checked.get(place)
    if (checked !== undefined && nowMs - checked.atMs > renewMs) this.#check(place, withinMs).catch(() => {})
  }

  /**
   * Asks the store. One answer serves all who wait for it: a call that is under way when somebody has an answer of the
   * store in hand was sent after that answer was given, as both go over the same connection.
   */
  ask(charge: Charge, withinMs: number): Promise<number> {
    return this.#check(this.#store.placeOf(charge), withinMs)
  }

  #check(place: number, withinMs: number): Promise<number> {
    const running = this.#checking.get(place)
    if (running !== undefined) return running
    const connection = this.#store.connection()
    const made = Promise.resolve(this.#store.intactSinceUs(place, withinMs)).then((sinceUs) => {
      this.#checked.set(place, { sinceUs, connection, atMs: this.#clock.monotonic() })
      return sinceUs
    })
    this.#checking.set(place, made)
    made.catch(() => {}).finally(() => this.#checking.delete(place))
    return made
  }
}
