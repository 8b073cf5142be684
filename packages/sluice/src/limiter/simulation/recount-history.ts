import { Random } from '../../cache/protocol/simulation/random.ts'
import type { Clock } from '../../core/clock.ts'
import type { Recount, RecountPeriod } from '../../stores/recount/recount.ts'
import { createLimiter } from '../create-limiter.ts'
import type { Limiter } from '../limiter.ts'
import { SimulatedLink } from './simulated-link.ts'
import { SimulatedServer } from './simulated-server.ts'

/** What may happen in a history. */
export interface HistoryOptions {
  readonly seed: number
  readonly cap: number
  readonly replicas: number
  readonly steps: number
  /** By how many units the source may be behind. */
  readonly lag: number
  /** Whether the server loses counters. */
  readonly wipes: boolean
  /** Whether messages get lost on their way, so that units stay spent although no request was allowed. */
  readonly losesMessages: boolean
  /** Whether the source fails and hangs now and then. */
  readonly sourceFails: boolean
  /** Whether a day ends in the middle of the history. */
  readonly midnight?: boolean
}

/** A clock that a history moves. */
export interface HistoryClock extends Clock {
  advance(ms: number): Promise<void>
}

export interface HistoryOutcome {
  /** Units that were admitted in each day, while things happened and after all was well again. */
  readonly admitted: readonly number[]
  /** Units that were asked for in one day and admitted in the next. */
  readonly betweenDays: number
  readonly wiped: number
  /** What was done, one line for each step. */
  readonly log: readonly string[]
}

const subject = 'customer'
const dayMs = 86_400_000

/** Takes by replicas of one service from one subject, while connections, server and source fail at random. */
export async function runHistory(options: HistoryOptions, clock: HistoryClock): Promise<HistoryOutcome> {
  const world = new World(options, clock)
  await world.start()
  for (let step = 0; step < options.steps; step++) {
    await world.act()
    await clock.advance(world.random.pick([0, 0, 0.1, 0.5, 1, 3, 10, 60, 300]))
  }
  await world.calmDown()
  return world
}

class World implements HistoryOutcome {
  readonly random: Random
  readonly log: string[] = []
  readonly admitted: number[] = [0]
  betweenDays = 0
  wiped = 0
  readonly #options: HistoryOptions
  readonly #clock: HistoryClock
  readonly #server: SimulatedServer
  readonly #members: { readonly link: SimulatedLink; readonly limiter: Limiter }[] = []
  #sourceIsAway = false
  #running: Promise<unknown>[] = []
  readonly #firstDay: number

  constructor(options: HistoryOptions, clock: HistoryClock) {
    this.#options = options
    this.#clock = clock
    this.random = new Random(options.seed)
    this.#server = new SimulatedServer(clock)
    this.#firstDay = Math.floor(clock.now() / 1000 / dayMs) + 1
  }

  async start(): Promise<void> {
    const { cap, replicas, midnight = false } = this.#options
    // The server was started before the day began, so that an absent counter is zero.
    await this.#clock.advance(midnight ? 2 * dayMs - 1000 : dayMs)
    for (let r = 0; r < replicas; r++) {
      const link = new SimulatedLink(this.#server, this.#clock, () => this.random.pick([0.1, 0.2, 1, 5]))
      const limiter = await createLimiter({
        policy: {
          service: 'shop',
          rules: [{ name: 'cap', limits: { amount: cap, per: 'day' }, onStoreFailure: 'recount' }],
        },
        store: link.store(),
        clock: this.#clock,
        replicas,
        deadline: 100,
        breaker: { failures: this.random.pick([1, 5, 1_000_000]), cooldown: 50 },
        recount: { cap: this.#source() },
      })
      this.#members.push({ link, limiter: limiter as Limiter })
    }
  }

  async act(): Promise<void> {
    const { random } = this
    const m = random.below(this.#members.length)
    const roll = random.below(100)
    if (roll < 50) {
      for (let i = random.pick([1, 1, 2, 8]); i > 0; i--) this.#take(m, random.pick([1, 1, 1, 2, 3]))
    } else if (roll < 58) this.#peek(m)
    else {
      // After the deadline of all calls, none is lost.
      if (!this.#options.losesMessages) await this.#clock.advance(150)
      this.#fail(m, roll)
    }
  }

  #fail(m: number, roll: number): void {
    const { random } = this
    const { link } = this.#members[m]!
    const { wipes, losesMessages, sourceFails } = this.#options
    const isOn = random.chance(0.5)
    if (roll < 68) link.isRefused = isOn
    else if (roll < 74 && losesMessages) link.isDeaf = isOn
    else if (roll < 78 && losesMessages) link.cut()
    else if (roll < 82 && losesMessages) link.isMute = isOn
    else if (roll < 88) this.#server.isDown = isOn
    else if (roll < 93 && wipes) this.#lose()
    else if (roll < 97 && sourceFails) this.#sourceIsAway = isOn
    const { isRefused, isDeaf, isMute } = link
    const isDown = this.#server.isDown
    this.#note(m, `now ${JSON.stringify({ isRefused, isDeaf, isMute, isDown, sourceIsAway: this.#sourceIsAway })}`)
  }

  /** Everything works again, and whatever is left is asked for. */
  async calmDown(): Promise<void> {
    this.#server.isDown = false
    this.#sourceIsAway = false
    for (const { link } of this.#members) {
      link.isRefused = false
      link.isDeaf = false
      link.isMute = false
    }
    await this.#clock.advance(3000)
    for (let round = 0; round < this.#options.cap + 3; round++) {
      for (let m = 0; m < this.#members.length; m++) this.#take(m, 1)
      await this.#clock.advance(50)
    }
    await this.#clock.advance(1000)
    await Promise.all(this.#running)
    const closing = Promise.all(this.#members.map(({ limiter }) => limiter.close()))
    await this.#clock.advance(2000)
    await closing
  }

  #take(m: number, cost: number): void {
    this.#run(async () => {
      const day = this.#day()
      const { allowed, by } = await this.#members[m]!.limiter.take(subject, { cost })
      // What was decided while a day ended may belong to either of the two days.
      if (allowed && day === this.#day()) this.admitted[day]! += cost
      else if (allowed) this.betweenDays += cost
      this.#note(m, `take ${cost}: ${allowed ? `allowed, ${this.admitted.at(-1)} now` : 'denied'} by ${by}`)
    })
  }

  #peek(m: number): void {
    this.#run(async () => {
      const { allowed, by } = await this.#members[m]!.limiter.peek(subject)
      this.#note(m, `peek: ${allowed} by ${by}`)
    })
  }

  #lose(): void {
    const share = this.random.pick([1, 1, 0.5])
    // A server that comes back older has been started anew; one that is wiped keeps its connections.
    if (share < 1) for (const { link } of this.#members) link.cut()
    this.#server.lose(share)
    this.wiped += 1
    this.#note(-1, `lost ${share}`)
  }

  #source(): Recount {
    const { lag } = this.#options
    const wait = (ms: number): Promise<void> => new Promise((resolve) => this.#clock.setTimeout(resolve, ms))
    return async (_key: unknown, { start }: RecountPeriod): Promise<number> => {
      await wait(this.random.pick([0.1, 1, 5]))
      if (this.#sourceIsAway && this.random.chance(0.5)) throw new Error('the source is away')
      if (this.#sourceIsAway) await wait(200)
      const known = this.admitted[+start / dayMs - this.#firstDay] ?? 0
      const counted = Math.max(0, known - (lag === 0 ? 0 : this.random.below(lag + 1)))
      this.#note(-1, `counted ${counted}`)
      await wait(this.random.pick([0.1, 1, 5]))
      return counted
    }
  }

  #day(): number {
    const day = Math.floor(this.#clock.now() / 1000 / dayMs) - this.#firstDay
    this.admitted[day] ??= 0
    return day
  }

  #run(work: () => Promise<void>): void {
    this.#running.push(work())
  }

  #note(m: number, text: string): void {
    this.log.push(`${this.#clock.monotonic().toFixed(1)} ${m === -1 ? 'all' : `#${m}`} ${text}`)
  }
}
