import type { Clock } from '../../../core/clock.ts'
import { StoreError } from '../../../core/errors.ts'
import type { BookedLimit, BookingRules, Step } from '../../booking/messages.ts'
import { BookingClient, type SlowedBy } from '../booking-client.ts'
import type { Grant } from '../grant.ts'
import type { BookingPort } from '../messages.ts'
import type { Booking } from '../waiting-call.ts'
import { ProcessClock } from './process-clock.ts'
import { seeded } from './random-history.ts'
import { type Mutation, SimulatedServer } from './server.ts'

/** Time of a simulation, which stands still until it is moved. */
export interface SimulatedClock extends Clock {
  advance(ms: number): Promise<void>
}

export interface WorldOptions {
  readonly clock: SimulatedClock
  readonly seed: number
  readonly limits: readonly BookedLimit[]
  readonly mutation?: Mutation
  /** How long a request is on its way, and how long the vendor takes to answer (ms). */
  readonly delayMs?: (random: () => number) => number
  readonly latencyMs?: number
  /** Share of messages that are lost. */
  readonly loss?: number
  /** Messages take no time, and what is granted is written at once. */
  readonly isInstant?: boolean
  /** How fast the clocks of the server and of all processes run. */
  readonly speed?: number
  readonly over?: Partial<BookingRules>
  /** The vendor reports when it has nothing left, and for how long in whole seconds, as most do. */
  readonly isHonest?: boolean
  /** What all calls book differently. */
  readonly calls?: Partial<Booking>
  readonly onStoreFailure?: 'open' | 'closed' | 'local'
  readonly replicas?: number
}

export interface SimulatedProcess {
  readonly client: BookingClient
  readonly clock: ProcessClock
  /** Suspends the process for so long (ms) between its next check of a grant and its write. */
  gapMs: number
  /** Nothing reaches the server. */
  isCut: boolean
}

/** The longest that a request is on its way, as processes report it. */
const arrivalMs = 25

/**
 * Processes with the real client, a server with the real state machine, and a vendor that writes down when requests
 * arrive; all in virtual time. Messages are delayed and lost, processes stop and die, clocks drift and jump.
 */
export class World {
  readonly clock: SimulatedClock
  readonly random: () => number
  readonly server: SimulatedServer
  readonly processes: SimulatedProcess[] = []
  readonly arrivals: number[] = []
  /** What processes noticed of lost state, and for how long. */
  readonly slowed: [SlowedBy, number][] = []
  messages = 0
  rules: BookingRules
  readonly #options: WorldOptions

  constructor(options: WorldOptions) {
    const { mutation = {}, speed = 1, limits } = options
    this.#options = options
    this.clock = options.clock
    this.random = seeded(options.seed * 7919 + 13)
    this.server = new SimulatedServer(this.clock, mutation, speed)
    const stated = mutation.key === undefined ? limits : [{ ...limits[0]!, key: mutation.key }, ...limits.slice(1)]
    this.rules = {
      ...{ limits: stated, maxQueue: 5000, maxQueuePerTenant: -1, arrivalMs: 250, timeoutMs: 20_000 },
      ...{ afterLoss: 'pace', retryPerCall: 0, retryPerSecond: 0, ...options.over },
    }
  }

  /** Starts a process; its callers make one call after the other. */
  start(callers: number): SimulatedProcess {
    const { speed = 1, onStoreFailure = 'closed', replicas } = this.#options
    const drift = speed * (1 + (this.random() - 0.5) * 0.0001)
    const clock = new ProcessClock(this.clock, drift, this.random() * 1e5)
    const process: SimulatedProcess = {
      client: new BookingClient({
        port: this.#port(() => process),
        clock,
        owner: `p${this.processes.length}`,
        upstream: 'vendor',
        state: 'vendor',
        rules: () => this.rules,
        onStoreFailure: () => onStoreFailure,
        replicas,
        deadlineMs: 500,
        onFailure: () => undefined,
        onSlowed: (by, ms) => this.slowed.push([by, ms]),
      }),
      clock,
      ...{ gapMs: 0, isCut: false },
    }
    this.processes.push(process)
    for (let i = 0; i < callers; i++) void this.#callAgain(process)
    return process
  }

  kill({ clock }: SimulatedProcess): void {
    clock.isDead = true
  }

  stop({ clock }: SimulatedProcess, ms: number): void {
    clock.stoppedUntilMs = Math.max(clock.stoppedUntilMs, this.clock.monotonic() + ms)
  }

  async #callAgain(process: SimulatedProcess): Promise<void> {
    while (!process.clock.isDead) await this.call(process).catch(() => process.clock.sleep(10))
  }

  /** One call: booked, written while its grant is fresh, and answered. */
  async call(process: SimulatedProcess, over: Partial<Booking> = {}): Promise<void> {
    const { mutation = {}, delayMs = (random) => random() * 20, latencyMs = 100, isInstant, calls } = this.#options
    const { isHonest } = this.#options
    const { clock, client } = process
    const booking = { tenant: '', weight: 1, priorityMs: 0, scope: '', units: {}, first: true, maxWaitMs: 60_000 }
    const grant = await grantOf(client, { ...booking, arrivedMs: clock.monotonic(), arrivalMs, ...calls, ...over })
    if (!isInstant) await clock.sleep(this.random() < 0.02 ? this.random() * 900 : this.random() * 0.3)
    if (clock.monotonic() > grant.writeByMs && !mutation.ignoresWriteBy) {
      grant.cancel()
      return
    }
    if (process.gapMs > 0) {
      this.stop(process, process.gapMs)
      process.gapMs = 0
      await clock.sleep(0)
    }
    // From here on the request is on its way, whatever happens to the process.
    const writtenMs = clock.monotonic()
    const onItsWayMs = delayMs(this.random)
    let resetMs = 0
    const arrive = (): void => {
      this.arrivals.push(this.clock.monotonic())
      if (isHonest) resetMs = this.#resetMs()
    }
    // A timer takes a millisecond at least.
    const arrived = onItsWayMs < 1 ? Promise.resolve(arrive()) : sleep(this.clock, onItsWayMs).then(arrive)
    grant.written(writtenMs, mutation.arrivalMs ?? (calls && 'arrivalMs' in calls ? calls.arrivalMs : arrivalMs))
    await arrived
    await clock.sleep(latencyMs + this.random() * 20)
    grant.answer(clock.monotonic())
    grant.finish()
    const sentAgoMs = Math.ceil(clock.monotonic() - writtenMs)
    if (resetMs > 0)
      void client.ask({ op: 'pause', scope: '', ms: resetMs, sentAgoMs, chance: 0, maxMs: 60_000, refused: false })
  }

  /** What the vendor says after a call: 0 as long as there is something left, else for how long there is not. */
  #resetMs(): number {
    const nowMs = this.clock.monotonic()
    const { amount, periodMs } = this.#options.limits[0]!
    const inPeriod = this.arrivals.filter((at) => at > nowMs - periodMs)
    return inPeriod.length < amount ? 0 : Math.ceil((inPeriod[0]! + periodMs - nowMs) / 1000) * 1000
  }

  /** Each direction takes a moment. What is not answered in time may still be executed. */
  #port(of: () => SimulatedProcess): BookingPort {
    const { loss = 0, mutation = {}, isInstant } = this.#options
    const latest = new Map<string, string>()
    let late: string[] = []
    return {
      close: async () => {},
      exchange: (_, asked, withinMs) =>
        new Promise((resolve, reject) => {
          this.messages += 1
          const { clock, isCut } = of()
          if (isInstant) {
            resolve(this.server.execute(asked))
            return
          }
          const [isLost, isMute] = [isCut || this.random() < loss, this.random() < loss]
          let isOver = false
          clock.setTimeout(() => {
            if (isOver) return
            isOver = true
            reject(new StoreError('timeout', 'no answer'))
          }, withinMs)
          if (isLost) return
          const mine = late
          late = []
          const frozenMs = Math.max(0, this.server.frozenUntilMs - this.clock.monotonic())
          void sleep(this.clock, this.random() * 0.5 + frozenMs).then(() => {
            const backs = mine.map((id): Step => ({ op: 'back', grant: latest.get(id)! }))
            const reply = this.server.execute({ ...asked, steps: [...asked.steps, ...backs] })
            for (const { id, number } of reply.grants) latest.set(id, `${reply.marker}.${number}`)
            if (isMute) return
            clock.setTimeout(() => {
              if (!isOver) resolve(reply)
              else if (mutation.namesByCall)
                clock.setTimeout(() => late.push(...reply.grants.map(({ id }) => id)), this.random() * 20)
              isOver = true
            }, this.random() * 0.5)
          })
        }),
    }
  }
}

/** Books, and resolves with the grant; rejects when it is refused. */
export function grantOf(booker: BookingClient, booking: Booking): Promise<Grant> {
  return new Promise((granted, refused) => {
    booker.book(booking, { granted, refused }, booking.arrivedMs)
  })
}

export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, ms)
  })
}
