import type { BookedLimit, BookingRules, Exchange, ExchangeReply, Step, Units } from '../messages.ts'

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** What a process of a random history knows. */
interface Process {
  no: number
  answered: number
  marker: string
  offsetUs: number | undefined
  epoch: number
  lostUs: number
  ended: number
  ids: string[]
  grants: string[]
  known: boolean
}

/**
 * A random history of an upstream: several processes that book, report, fall silent, lose answers, restart and change
 * their limits. What they send depends on what was answered, so it is made one exchange at a time.
 */
export class RandomHistory {
  readonly #random: () => number
  readonly #processes = new Map<string, Process>()
  readonly #first: BookingRules
  #rules: BookingRules
  #next = 0
  /** The server's clock, and that of all processes. */
  rawUs = 1_000_000_000
  #trueUs = 1_000_000_000

  constructor(seed: number) {
    this.#random = seeded(seed)
    this.#first = this.#randomRules()
    this.#rules = this.#first
  }

  /** The next exchange. `answered` passes its reply on, where that is not lost. */
  next(): { readonly asked: Exchange; readonly answered: (reply: ExchangeReply) => void } {
    this.#elapse()
    if (this.#below(40) === 0) this.#rules = this.#below(2) === 0 ? this.#randomRules() : this.#first
    const owner = this.#pick(['a', 'b', 'c'])
    if (this.#below(60) === 0) this.#processes.delete(owner)
    const process = this.#processes.get(owner) ?? this.#newProcess()
    this.#processes.set(owner, process)
    process.no += 1
    const booked = new Set<string>()
    const steps = Array.from({ length: this.#below(6) }, () => this.#step(owner, process)).filter(
      // A process books a call once, until it learns what became of it.
      (step) => step.op !== 'book' || (!booked.has(step.id) && booked.add(step.id)),
    )
    if (!process.known || this.#below(30) === 0) steps.unshift(this.#register(process))
    process.ended += this.#below(3) === 0 ? 1 : 0
    const { no, answered, marker, epoch, lostUs, ended } = process
    const expectUs = process.offsetUs === undefined ? -1 : process.offsetUs + this.#trueUs
    const jump =
      this.#below(40) === 0
        ? { jump: { offsetUs: this.#pick([0, -5000]), us: 5000, isGain: this.#below(2) === 0 } }
        : {}
    const asked: Exchange = {
      ...{ owner, no, answered, marker, expectUs, epoch, lostUs, ...jump, ended },
      ...{ wallMs: Math.floor(this.#trueUs / 1000), mirror: this.#below(4) === 0, rules: this.#rules, steps },
    }
    return { asked, answered: (reply) => this.#answered(process, no, reply) }
  }

  #answered(process: Process, no: number, reply: ExchangeReply): void {
    if (this.#below(12) === 0) return
    Object.assign(process, { answered: no, marker: reply.marker, epoch: reply.epoch, known: reply.known })
    process.lostUs = reply.lostUs
    process.offsetUs = reply.verifiedUs - this.#trueUs
    for (const { id, number } of reply.grants) {
      process.grants.push(`${reply.marker}.${number}`)
      process.ids = process.ids.filter((each) => each !== id)
    }
  }

  #newProcess(): Process {
    const no = this.#next++ * 1000
    return {
      no,
      answered: no,
      marker: '',
      offsetUs: undefined,
      epoch: 0,
      lostUs: 0,
      ended: 0,
      ids: [],
      grants: [],
      known: false,
    }
  }

  /** Mostly too short for anything to expire; sometimes the server's clock jumps. */
  #elapse(): void {
    const us = this.#below(15) === 0 ? this.#pick([2_100_000, 3_100_000, 12_000_000]) : this.#below(9) ** 3 * 1000
    this.#trueUs += us
    this.rawUs += us + (this.#below(30) === 0 ? this.#pick([5_000_000, -3_000_000, 40_000]) : 0)
  }

  #step(owner: string, process: Process): Step {
    const chance = this.#below(100)
    const grant = (): string => this.#pick([...process.grants.slice(-6), 'none.1'])
    if (chance < 45) return this.#book(owner, process)
    if (chance < 55) return { op: 'cancel', id: this.#pick([...process.ids.slice(-6), 'none']) }
    if (chance < 60) return { op: 'back', grant: grant() }
    if (chance < 85) {
      const about = { inUs: this.#pick([-40_000, -1000, 25_000, 500_000]), final: this.#below(3) > 0 }
      const late = this.#below(8) === 0 ? { late: true, units: this.#units() } : {}
      return { op: 'report', grant: grant(), ...about, ...(this.#below(4) === 0 ? { units: this.#units() } : late) }
    }
    if (chance < 89) {
      const [ms, maxMs, scope] = [this.#pick([-1, 0, 500, 5000]), this.#pick([1000, 60_000]), this.#pick(['', 'route'])]
      const about = { sentAgoMs: this.#pick([0, 100, 5000]), chance: this.#random(), refused: this.#below(2) === 0 }
      return { op: 'pause', scope, ms, maxMs, ...about }
    }
    if (chance < 92) return { op: 'retry' }
    if (chance < 95) return { op: 'refusedWithRoom' }
    return chance < 97 ? { op: 'leave' } : { op: 'cancel', id: 'none' }
  }

  #book(owner: string, process: Process): Step {
    const isOld = process.ids.length > 0 && this.#below(8) === 0
    const id = isOld ? this.#pick(process.ids.slice(-5)) : `${owner}${this.#next++}`
    if (!isOld) process.ids.push(id)
    const [caller, tenant] = [this.#pick(['', '', 'x', 'y']), this.#pick(['', 'red', 'blue', 'z z'])]
    const times = {
      priorityMs: this.#pick([0, 0, 500, -500]),
      waitedMs: this.#below(3) * 100.5,
      maxWaitMs: this.#pick([0, 3000, 60_000]),
      arrivalUs: this.#pick([-1, 25_000, 25_000, 250_000]),
    }
    const about = { weight: this.#pick([1, 1, 3, 0.5]), scope: this.#pick(['', '', 'route']), units: this.#units() }
    return { op: 'book', id, caller, tenant, ...times, ...about, first: this.#below(2) === 0 }
  }

  #register(process: Process): Step {
    const grants = Array.from({ length: this.#below(3) }, () => ({
      grant: `old.${this.#next++}`,
      ...{ agoUs: this.#below(3_000_000), inUs: this.#pick([-700_000, 20_000, 900_000]), units: this.#units() },
    }))
    process.grants.push(...grants.map(({ grant }) => grant))
    const entries = [[-20_000_000, 3] as const, [-1_000_000, 1] as const, [40_000, 2] as const]
    const completeUs = this.#below(2) === 0 ? -1 : this.#below(80_000_000)
    const mirror = { key: 'tokens/60000', agoUs: this.#below(6_000_000), completeUs, entries }
    const mirrors = this.#below(2) === 0 ? [mirror] : []
    return { op: 'register', inFlight: this.#below(3), grants, mirrors }
  }

  #units(): Units {
    return this.#below(3) === 0 ? {} : { tokens: 1 + this.#below(5) }
  }

  #randomRules(): BookingRules {
    const limits: BookedLimit[] = [
      { key: 'requests/1000', amount: 1 + this.#below(5), periodMs: 1000 },
      { key: 'tokens/60000', amount: this.#pick([8, 200]), periodMs: 60_000 },
      { key: 'requests/10000', amount: 6 + this.#below(10), periodMs: 10_000 },
      { key: 'in-flight', amount: 1 + this.#below(6), periodMs: 0 },
    ]
    return {
      limits: limits.filter(() => this.#below(2) === 0),
      maxQueue: this.#pick([2, 5, 100]),
      maxQueuePerTenant: this.#pick([-1, 2, 100]),
      arrivalMs: this.#pick([25, 250]),
      timeoutMs: 15_000,
      afterLoss: this.#pick(['pace', 'pace', 'wait']),
      retryPerCall: 100,
      retryPerSecond: 1000,
    }
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!
  }
}
