import type { Clock, Timer } from '../../core/clock.ts'
import { StoreError } from '../../core/errors.ts'
import { toError } from '../../core/to-error.ts'
import type { MemoryPort } from './memory-port.ts'
import type { BookingPort, BookingRules, Exchange, ExchangeReply, Step, StepResult } from './messages.ts'
import { SharedClock } from './shared-clock.ts'

/** Calls back with the result of a step; undefined when it is not known. */
export type Settle = (result: StepResult | undefined) => void

export interface PendingStep {
  readonly step: Step | (() => Step)
  readonly settle?: Settle | undefined
  /** It is sent again until it is answered; otherwise it is given up when shared state cannot be reached. */
  readonly isKept?: boolean
}

export interface ExchangeLoopOptions {
  readonly port: BookingPort | MemoryPort
  readonly clock: Clock
  readonly owner: string
  /** Names the state of the upstream. */
  readonly state: string
  readonly rules: () => BookingRules
  readonly deadlineMs: number
  /** How many calls of this process are over. */
  readonly ended: () => number
  /** Steps that ride along, at most so many. */
  readonly reports: (most: number, nowMs: number) => PendingStep[]
  /** What to send to a state that does not know this process: what it knows, and the calls that wait here. */
  readonly known: (marker: string, nowMs: number) => PendingStep[]
  readonly onReply: (reply: ExchangeReply, sentMs: number, receivedMs: number) => void
  /** Shared state did not answer. */
  readonly onFailure: (error: Error) => void
}

/** So many steps go in one exchange, so that none takes long. */
const mostSteps = 64
/** How soon it is tried again after failures in a row. */
const againMs = 250
/** How often the logs of long limits are copied. */
const mirrorMs = 1000

/** Sends steps to shared state, one exchange at a time, so that they arrive in order. */
export class ExchangeLoop {
  readonly #options: ExchangeLoopOptions
  readonly #clock: Clock
  readonly #sharedClock = new SharedClock()
  #steps: PendingStep[] = []
  #isScheduled = false
  #isBusy = false
  #no = 0
  #answered = 0
  #failures = 0
  #marker = ''
  #mustRegister = true
  #mirroredMs = -Infinity
  #again: Timer | undefined
  #isClosed = false

  constructor(options: ExchangeLoopOptions) {
    this.#options = options
    this.#clock = options.clock
  }

  /** Whether any exchange was answered. */
  get hasBegun(): boolean {
    return this.#answered > 0
  }

  get marker(): string {
    return this.#marker
  }

  /** Whether the last exchange failed. */
  get isAway(): boolean {
    return this.#failures > 0
  }

  add(step: PendingStep): void {
    this.#steps.push(step)
    this.exchangeSoon()
  }

  /** Exchanges in this tick, also when there are no steps: that renews this process and asks for turns. */
  exchangeSoon(): void {
    if (this.#isScheduled || this.#isBusy || this.#again !== undefined) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      if (!this.#isBusy && this.#again === undefined) this.#exchange()
    })
  }

  /** Exchanges at once, where that needs no waiting: for a state in this process. */
  exchangeNow(): void {
    if (!this.#isBusy) this.#exchange()
  }

  /** From now on nothing is tried again. */
  close(): void {
    this.#isClosed = true
  }

  #exchange(): void {
    const sentMs = this.#clock.monotonic()
    if (this.#mustRegister) this.#addKnown(sentMs)
    const steps = this.#steps.splice(0, mostSteps)
    if (steps.length < mostSteps) steps.push(...this.#options.reports(mostSteps - steps.length, sentMs))
    const { port, state, deadlineMs } = this.#options
    const asked = this.#asked(steps, sentMs)
    this.#isBusy = true
    try {
      const reply = port.exchange(state, asked, deadlineMs)
      if (!(reply instanceof Promise)) this.#replied(steps, reply, asked, sentMs)
      else
        reply.then(
          (replied) => this.#replied(steps, replied, asked, sentMs),
          (error) => this.#failed(steps, toError(error)),
        )
    } catch (error) {
      this.#failed(steps, toError(error))
    }
  }

  #asked(steps: readonly PendingStep[], sentMs: number): Exchange {
    const { owner, rules, ended } = this.#options
    this.#no += 1
    return {
      ...{ owner, no: this.#no, answered: this.#answered, marker: this.#marker },
      ...this.#sharedClock.vouch(Math.floor(sentMs * 1000)),
      wallMs: Math.floor(this.#clock.wall?.() ?? this.#clock.now() / 1000),
      ended: ended(),
      mirror: sentMs - this.#mirroredMs >= mirrorMs,
      rules: rules(),
      steps: steps.map(({ step }) => (typeof step === 'function' ? step() : step)),
    }
  }

  /** What was about to be sent is part of what is known, apart from what concerns the whole upstream. */
  #addKnown(nowMs: number): void {
    this.#mustRegister = false
    const kept = this.#steps.filter(
      ({ step }) =>
        typeof step === 'object' &&
        (['pause', 'retry', 'leave'].includes(step.op) || (step.op === 'report' && step.late)),
    )
    this.#steps = [...this.#options.known(this.#marker, nowMs), ...kept]
  }

  #replied(steps: readonly PendingStep[], reply: ExchangeReply, asked: Exchange, sentMs: number): void {
    const receivedMs = this.#clock.monotonic()
    this.#isBusy = false
    this.#failures = 0
    // An exchange of an unknown process is not executed: what an earlier one was granted is still to be voided.
    if (reply.known) this.#answered = asked.no
    this.#marker = reply.marker
    this.#sharedClock.learn(reply, Math.floor(sentMs * 1000), Math.ceil(receivedMs * 1000))
    if (!reply.known) {
      this.#mustRegister = true
      this.#steps = [...steps, ...this.#steps]
    } else {
      if (asked.mirror) this.#mirroredMs = sentMs
      for (const [index, { settle }] of steps.entries()) settle?.(reply.results[index])
      this.#options.onReply(reply, sentMs, receivedMs)
    }
    if (this.#steps.length > 0 || this.#mustRegister || this.#sharedClock.hasJump) this.exchangeSoon()
  }

  /**
   * It is unknown whether the steps were executed. They are sent again, in an exchange that voids what this one was
   * granted; every one of them can be executed twice.
   */
  #failed(steps: readonly PendingStep[], error: Error): void {
    this.#isBusy = false
    const kept = this.#isClosed ? [] : steps.filter(({ isKept }) => isKept)
    for (const each of steps) if (!kept.includes(each)) each.settle?.(undefined)
    this.#steps = [...kept, ...this.#steps]
    // A process that is too busy to ask in time shows nothing about shared state.
    const isOverload = error instanceof StoreError && error.kind === 'overload'
    if (!isOverload) this.#failures += 1
    if (!isOverload) this.#options.onFailure(error)
    const waitMs = isOverload ? againMs / 10 : this.#failures > 1 ? againMs : 1
    this.#again = this.#clock.setTimeout(() => {
      this.#again = undefined
      this.exchangeSoon()
    }, waitMs)
    this.#again.unref?.()
  }
}
