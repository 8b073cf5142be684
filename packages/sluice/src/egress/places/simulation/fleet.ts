import type { Clock } from '../../../core/clock.ts'
import { StoreError } from '../../../core/errors.ts'
import type { BookingRules } from '../../booking/messages.ts'
import type { Booker, Booking } from '../booker.ts'
import { BookingClient } from '../booking-client.ts'
import type { Grant } from '../grant.ts'
import type { BookingPort } from '../ports/booking-port.ts'
import { memoryPort } from '../ports/memory-port.ts'

/** A link to shared state that can be cut, each direction separately. */
export interface Link {
  /** Requests do not arrive. */
  isCut: boolean
  /** Requests arrive and are executed, but their replies are lost. */
  isMute: boolean
}

export interface FleetOptions {
  readonly clock: Clock
  readonly rules: BookingRules
  readonly onStoreFailure?: 'open' | 'closed' | 'local'
  readonly replicas?: number
  readonly random?: () => number
}

/** Processes that share one state over separate links. */
export class SimulatedFleet {
  readonly #options: FleetOptions
  readonly #port: BookingPort
  /** The policy in force in all of them. */
  rules: BookingRules
  readonly members: { readonly client: BookingClient; readonly link: Link }[] = []

  constructor(options: FleetOptions) {
    this.#options = options
    this.rules = options.rules
    this.#port = memoryPort(options.clock)
  }

  add(): { readonly client: BookingClient; readonly link: Link } {
    const link: Link = { isCut: false, isMute: false }
    const { clock, onStoreFailure = 'closed', replicas } = this.#options
    const client = new BookingClient({
      port: this.#over(link),
      clock,
      owner: `p${this.members.length}`,
      upstream: 'vendor',
      rules: () => this.rules,
      onStoreFailure: () => onStoreFailure,
      replicas,
      deadlineMs: 500,
      onFailure: () => undefined,
    })
    const member = { client, link }
    this.members.push(member)
    return member
  }

  /** Each direction takes a moment; a request on a cut link fails at its deadline. */
  #over(link: Link): BookingPort {
    const { clock, random = () => 0.5 } = this.#options
    const port = this.#port
    return {
      name: port.name,
      close: port.close,
      async exchange(upstream, asked, withinMs) {
        const isLate = (): StoreError => new StoreError('timeout', 'the link is cut')
        if (link.isCut) {
          await sleep(clock, withinMs)
          throw isLate()
        }
        await sleep(clock, random() * 2)
        const reply = await port.exchange(upstream, asked, withinMs)
        if (link.isMute) {
          await sleep(clock, withinMs)
          throw isLate()
        }
        await sleep(clock, random() * 2)
        return reply
      },
      listen: (upstream, owner, onAssigned) => port.listen(upstream, owner, () => !link.isCut && onAssigned()),
    }
  }
}

/** Books, and resolves with the grant; rejects when it is refused. */
export function grantOf(booker: Booker, booking: Booking): Promise<Grant> {
  return new Promise((granted, refused) => {
    booker.book(booking, { granted, refused }, booking.arrivedMs)
  })
}

export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, ms)
  })
}
