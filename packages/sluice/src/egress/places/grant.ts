import type { Ticks, Units } from '../booking/messages.ts'

/** Receives the reports of a grant. */
export interface GrantOwner {
  cancelled(grant: Grant): void
  answered(grant: Grant): void
  done(grant: Grant, units: Units | undefined): void
}

/** Permission to send one call. It is either cancelled, with nothing written, or answered and then done. */
export class Grant {
  readonly id: string
  readonly units: Units
  /** Until when the request may be written, by the monotonic clock. */
  readonly notAfterMs: number
  readonly waitedMs: number
  /** By when the request must have arrived; after that, others may use its place. */
  readonly arriveByMs: number
  /** The groups its units went to when it was answered. */
  ticks: Ticks = {}
  readonly #owner: GrantOwner
  #state: 'held' | 'answered' | 'over' = 'held'

  constructor(owner: GrantOwner, about: Pick<Grant, 'id' | 'units' | 'notAfterMs' | 'waitedMs' | 'arriveByMs'>) {
    this.#owner = owner
    this.id = about.id
    this.units = about.units
    this.notAfterMs = about.notAfterMs
    this.waitedMs = about.waitedMs
    this.arriveByMs = about.arriveByMs
  }

  get isAnswered(): boolean {
    return this.#state === 'answered'
  }

  /** Nothing was written: the place is free at once. */
  cancel(): void {
    if (this.#state !== 'held') return
    this.#state = 'over'
    this.#owner.cancelled(this)
  }

  /** The request has surely arrived: its final response began, its connection ended, or its timeout passed. */
  answer(): void {
    if (this.#state !== 'held') return
    this.#state = 'answered'
    this.#owner.answered(this)
  }

  /** The call is over; `units` are what it actually cost. */
  finish(units?: Units): void {
    if (this.#state === 'over') return
    this.answer()
    this.#state = 'over'
    this.#owner.done(this, units)
  }
}
