import type { BookingRules, BookStep, ExchangeReply, Step } from '../../egress/booking/messages.ts'
import type { BookingPort } from '../../egress/places/ports/booking-port.ts'
import { waitFor } from '../wait-for.ts'

/** Something that every port of booking must do, and how to see that this one does. */
export interface BookingCase {
  readonly name: string
  check(bench: BookingBench): Promise<void>
}

/** A port under test. */
export interface BookingUnderTest {
  readonly port: BookingPort
  /** Moves the port's time, where it is not the real one. */
  advance?(ms: number): Promise<void> | void
  stop(): Promise<void>
}

/** The limit of most cases: two requests in any second. */
export const limit = 'requests/1000'

const rules: BookingRules = {
  limits: [{ key: limit, amount: 2, periodMs: 1000 }],
  maxQueue: 1000,
  maxQueuePerTenant: 1000,
  heldMs: 60_000,
  spacing: 'even',
  marginMs: 0,
  retryPerCall: 100,
  retryPerSecond: 1000,
}

export const bookStep = (id: string, over: Partial<BookStep> = {}): BookStep => ({
  ...{ op: 'book', id, tenant: '', weight: 1, priorityMs: 0, waitedMs: 0, maxWaitMs: 60_000, scope: '' },
  ...{ units: { [limit]: 1 }, first: true },
  ...over,
})

/** The response of a call began, and the call is over. */
export const finishSteps = (id: string, tick: string = id): readonly Step[] => [
  { op: 'answered', id, ticks: { [limit]: tick } },
  { op: 'done', id, ticks: {} },
]

let made = 0

/** A port with what the cases have in common: an upstream of their own each, and short words for exchanges. */
export class BookingBench {
  readonly port: BookingPort
  readonly #advance: BookingUnderTest['advance']

  constructor({ port, advance }: BookingUnderTest) {
    this.port = port
    this.#advance = advance
  }

  /** An unused upstream, with nothing to recover from. */
  async upstream(over: Partial<BookingRules> = {}): Promise<UpstreamBench> {
    const upstream = new UpstreamBench(this.port, `u${process.pid}-${++made}`, { ...rules, ...over })
    const { recovering, epoch } = await upstream.ask('founder')
    await upstream.ask('founder', ...(recovering ? [{ op: 'recovered', epoch } as const] : []), { op: 'leave' })
    return upstream
  }

  /** Lets so much of the port's time go by. */
  async elapse(ms: number): Promise<void> {
    if (this.#advance) return this.#advance(ms)
    const end = performance.now() + ms
    await waitFor(() => performance.now() >= end, { timeoutMs: ms + 10_000, describe: `${ms} ms to go by` })
  }
}

/** One upstream under test. */
export class UpstreamBench {
  readonly name: string
  readonly rules: BookingRules
  readonly #port: BookingPort

  constructor(port: BookingPort, name: string, given: BookingRules) {
    this.#port = port
    this.name = name
    this.rules = given
  }

  /** One exchange of a process. */
  async ask(owner: string, ...steps: readonly Step[]): Promise<ExchangeReply> {
    return this.#port.exchange(this.name, { owner, sinceMs: -1, rules: this.rules, steps }, 10_000)
  }

  /** What came of each step. */
  async results(owner: string, ...steps: readonly Step[]): Promise<readonly string[]> {
    return (await this.ask(owner, ...steps)).results.map(({ is }) => is)
  }

  listen(owner: string, onAssigned: () => void): () => void {
    return this.#port.listen(this.name, owner, onAssigned)
  }
}
