import type { BookingPort, BookingRules, BookStep, ExchangeReply, Step } from '../../egress/booking/messages.ts'
import { SharedClock } from '../../egress/booking/shared-clock.ts'
import { waitFor } from '../wait-for.ts'

/** Something that every port of booking must do, and how to see that this one does. */
export interface BookingCase {
  readonly name: string
  readonly rules?: Partial<BookingRules>
  check(upstream: UpstreamBench): Promise<void>
}

/** A port under test. */
export interface BookingUnderTest {
  readonly port: BookingPort
  /** Moves the port's time, where it is not the real one, and reads it (ms). */
  advance?(ms: number): Promise<void> | void
  nowMs?(): number
  stop(): Promise<void>
}

/** The limit of most cases: two requests in any second. */
export const limit = 'requests/1000'

const rules: BookingRules = {
  limits: [{ key: limit, amount: 2, periodMs: 1000 }],
  maxQueue: 1000,
  maxQueuePerTenant: 1000,
  arrivalMs: 25,
  timeoutMs: 60_000,
  afterLoss: 'pace',
  retryPerCall: 100,
  retryPerSecond: 1000,
}

export const bookStep = (id: string, over: Partial<BookStep> = {}): BookStep => ({
  ...{ op: 'book', id, caller: '', tenant: '', weight: 1, priorityMs: 0, waitedMs: 0, maxWaitMs: 60_000, scope: '' },
  ...{ units: {}, arrivalUs: 25_000, first: true },
  ...over,
})

let made = 0

/** An upstream of its own for one case, and processes that use it. */
export class UpstreamBench {
  readonly rules: BookingRules
  readonly #name = `u${process.pid}-${++made}`
  readonly #under: BookingUnderTest
  readonly #processes = new Map<string, { no: number; answered: number; marker: string; readonly clock: SharedClock }>()

  constructor(under: BookingUnderTest, over: Partial<BookingRules> = {}) {
    this.#under = under
    this.rules = { ...rules, ...over }
  }

  /** A new state may have something to recover from. */
  async open(): Promise<void> {
    const first = await this.#exchange('founder', { ...this.rules, limits: [] }, [])
    for (let left = first.recoveringMs; left > 0; left = (await this.ask('founder')).recoveringMs)
      await this.elapse(left + 1)
    await this.ask('founder', { op: 'leave' })
  }

  /** One exchange of a process. */
  ask(owner: string, ...steps: readonly Step[]): Promise<ExchangeReply> {
    return this.#exchange(owner, this.rules, steps)
  }

  /** One whose answer is lost: the process does not know what was granted. */
  async askInVain(owner: string, ...steps: readonly Step[]): Promise<void> {
    await this.#under.port.exchange(this.#name, this.#asked(owner, this.rules, steps), 10_000)
  }

  /** One that is sent only when the returned function is called, although it was made now. */
  hold(owner: string, ...steps: readonly Step[]): () => Promise<ExchangeReply> {
    const asked = this.#asked(owner, this.rules, steps)
    return async () => this.#under.port.exchange(this.#name, asked, 10_000)
  }

  /** What came of each step. */
  async results(owner: string, ...steps: readonly Step[]): Promise<readonly string[]> {
    return (await this.ask(owner, ...steps)).results.map(({ is }) => is)
  }

  /** The calls that were granted in one exchange. */
  async granted(owner: string, ...steps: readonly Step[]): Promise<readonly string[]> {
    return (await this.ask(owner, ...steps)).grants.map(({ id }) => id)
  }

  /** The name of a grant, for reports. */
  nameOf({ marker, grants }: ExchangeReply, at = 0): string {
    return `${marker}.${grants[at]!.number}`
  }

  /** Lets so much of the port's time go by. */
  async elapse(ms: number): Promise<void> {
    if (this.#under.advance) return this.#under.advance(ms)
    const end = performance.now() + ms
    await waitFor(() => performance.now() >= end, { timeoutMs: ms + 10_000, describe: `${ms} ms to go by` })
  }

  get #nowUs(): number {
    return Math.floor((this.#under.nowMs?.() ?? performance.now()) * 1000)
  }

  async #exchange(owner: string, by: BookingRules, steps: readonly Step[]): Promise<ExchangeReply> {
    const isNew = !this.#processes.has(owner)
    const known = this.#processes.get(owner) ?? { no: 0, answered: 0, marker: '', clock: new SharedClock() }
    this.#processes.set(owner, known)
    const register = { op: 'register', inFlight: 0, grants: [], mirrors: [] } as const
    const sentUs = this.#nowUs
    const asked = this.#asked(owner, by, isNew ? [register, ...steps] : steps)
    const reply = await this.#under.port.exchange(this.#name, asked, 10_000)
    known.clock.learn(reply, sentUs, this.#nowUs)
    known.marker = reply.marker
    known.answered = asked.no
    return isNew ? { ...reply, results: reply.results.slice(1) } : reply
  }

  #asked(owner: string, by: BookingRules, steps: readonly Step[]) {
    const known = this.#processes.get(owner)!
    known.no += 1
    const { no, answered, marker } = known
    const [nowUs, vouched] = [this.#nowUs, known.clock.vouch(this.#nowUs)]
    const wallMs = Math.floor(nowUs / 1000)
    const about = { owner, no, answered, marker, ...vouched, wallMs, ended: 0, mirror: false }
    return { ...about, rules: by, steps }
  }
}
