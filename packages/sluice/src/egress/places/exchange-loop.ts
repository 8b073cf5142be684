import type { Clock, Timer } from '../../core/clock.ts'
import { toError } from '../../core/to-error.ts'
import { exchange } from '../booking/exchange.ts'
import type { BookingRules, ExchangeReply, Step, StepResult, Units } from '../booking/messages.ts'
import { newState, type UpstreamState } from '../booking/state.ts'
import type { BookingPort } from './booking-port.ts'
import { arriveByMs, modeEndsMs, type OutageMode, outageMode, outageRules } from './outage.ts'
import { ReplicaCount } from './replica-count.ts'

/** Calls back with what came of a step; undefined when it could not be asked. */
export type Settle = (result: StepResult | undefined) => void

export interface PendingStep {
  readonly step: Step
  readonly settle: Settle | undefined
}

/** What the grants of a reply are bound by. */
export interface GrantBounds {
  /** When they were asked for, by the monotonic clock. */
  readonly sentMs: number
  /** By when what is written on them must have arrived. */
  readonly arriveByMs: number
}

export interface ExchangeLoopOptions {
  readonly port: BookingPort
  readonly clock: Clock
  readonly owner: string
  readonly upstream: string
  readonly rules: () => BookingRules
  readonly deadlineMs: number
  readonly onStoreFailure: () => 'open' | 'closed' | 'local'
  /** How many share the limits, if the application says so. */
  readonly replicas: number | undefined
  /** All that is known here: what is taken, and who waits. */
  readonly known: () => PendingStep[]
  /** Units that this process holds. */
  readonly held: () => Units
  /** Called before the results of the steps and the reply. */
  readonly onBounds: (bounds: GrantBounds) => void
  readonly onReply: (reply: ExchangeReply) => void
  readonly onFailure: (error: Error) => void
}

/** How often an outage is probed. */
const probeMs = 250

/**
 * Brings steps to shared state, one exchange at a time, so that they arrive in order. While shared state cannot be
 * reached, a state in this process decides by the rules of the outage; when it is back, everything known here is told
 * to it.
 */
export class ExchangeLoop {
  readonly #options: ExchangeLoopOptions
  readonly #clock: Clock
  #steps: PendingStep[] = []
  #isScheduled = false
  #isBusy = false
  #isProbing = false
  #mustTell = false
  /** When the last exchange that was answered was sent. */
  #lastSeenMs = -1
  #epoch: string | undefined
  readonly #replicas: ReplicaCount
  #outage:
    | { readonly mode: OutageMode; readonly rules: BookingRules | undefined; readonly state: UpstreamState }
    | undefined
  #probe: Timer | undefined
  #isClosed = false

  constructor(options: ExchangeLoopOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#replicas = new ReplicaCount(options.replicas)
  }

  /** What decides now; undefined while shared state does. */
  get mode(): OutageMode | undefined {
    return this.#outage?.mode
  }

  get hasBegun(): boolean {
    return this.#lastSeenMs >= 0
  }

  add(step: Step, settle?: Settle): void {
    this.#steps.push({ step, settle })
    this.exchangeSoon()
  }

  /**
   * Exchanges in this tick, also when there is nothing to say: that renews this process and fetches what was assigned
   * to it.
   */
  exchangeSoon(): void {
    if (this.#isScheduled || this.#isBusy) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      if (!this.#isBusy) this.#exchange()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#clock.clearTimeout(this.#probe)
  }

  #exchange(): void {
    const steps = this.#steps
    this.#steps = []
    if (this.#mustTell) this.#tellKnown(steps)
    if (this.#outage) this.#decideHere(steps)
    else this.#ask(steps)
  }

  #tellKnown(steps: PendingStep[]): void {
    this.#mustTell = false
    const known = this.#options.known()
    const asked = new Set(known.map(({ step }) => ('id' in step ? step.id : '')))
    // What was about to be booked is part of what is known.
    const others = steps.filter(({ step }) => !(step.op === 'book' && asked.has(step.id)))
    steps.splice(0, steps.length, ...known, ...others)
  }

  #ask(steps: PendingStep[]): void {
    const { port, upstream, owner, rules, deadlineMs } = this.#options
    const sentMs = this.#clock.monotonic()
    const sinceMs = this.#lastSeenMs < 0 ? -1 : sentMs - this.#lastSeenMs
    const asked = { owner, sinceMs, rules: rules(), steps: steps.map(({ step }) => step) }
    const isProbe = this.#outage !== undefined
    // While an outage is probed, the state in this process goes on deciding.
    if (isProbe) this.#isProbing = true
    else this.#isBusy = true
    const end = (act: () => void): void => {
      if (isProbe) this.#isProbing = false
      else this.#isBusy = false
      act()
    }
    try {
      const reply = port.exchange(upstream, asked, deadlineMs)
      if (!(reply instanceof Promise)) {
        end(() => this.#replied(steps, reply, sentMs))
        return
      }
      reply.then(
        (replied) => end(() => this.#replied(steps, replied, sentMs)),
        (error) => end(() => this.#failed(steps, toError(error))),
      )
    } catch (error) {
      end(() => this.#failed(steps, toError(error)))
    }
  }

  #replied(steps: readonly PendingStep[], reply: ExchangeReply, sentMs: number): void {
    const isNew = this.#epoch !== undefined && (this.#epoch !== reply.epoch || !reply.known)
    const isBack = this.#outage !== undefined
    this.#outage = undefined
    this.#epoch = reply.epoch
    this.#lastSeenMs = sentMs
    this.#replicas.seen(reply.processes, sentMs)
    this.#mustTell ||= isNew || isBack
    this.#tell(steps, reply, sentMs, Infinity)
  }

  #tell(steps: readonly PendingStep[], reply: ExchangeReply, sentMs: number, arriveBy: number): void {
    this.#options.onBounds({ sentMs, arriveByMs: arriveBy })
    for (const [index, { settle }] of steps.entries()) settle?.(reply.results[index])
    this.#options.onReply(reply)
    if (this.#steps.length > 0 || this.#mustTell) this.exchangeSoon()
  }

  /**
   * Whether the steps were taken is not known. That does not matter: everything that is known here will be told, and
   * what is told replaces what was known there.
   */
  #failed(steps: readonly PendingStep[], error: Error): void {
    for (const { step, settle } of steps) if (step.op !== 'book') settle?.(undefined)
    const pauses = steps.filter(({ step }) => step.op === 'pause' || step.op === 'cancel')
    this.#steps = [...pauses.map(({ step }) => ({ step, settle: undefined })), ...this.#steps]
    this.#options.onFailure(error)
    this.#beginOutage()
  }

  #beginOutage(): void {
    if (this.#isClosed) {
      for (const { settle } of this.#steps.splice(0)) settle?.(undefined)
      return
    }
    const nowMs = this.#clock.monotonic()
    const replicas = this.#replicas.known
    const mode = outageMode(this.#lastSeenMs, nowMs, this.#options.onStoreFailure(), replicas)
    if (this.#outage?.mode !== mode) {
      const rules = outageRules(mode, this.#options.rules(), this.#options.held(), replicas)
      this.#outage = { mode, rules, state: newState(this.#wallMs()) }
      this.#mustTell = true
      this.exchangeSoon()
    }
    const waitMs = Math.min(probeMs, Math.max(1, modeEndsMs(mode, this.#lastSeenMs) - nowMs))
    this.#clock.clearTimeout(this.#probe)
    this.#probe = this.#clock.setTimeout(() => this.#tryAgain(), waitMs)
    this.#probe.unref?.()
  }

  /** Asks shared state again, with nothing to say; the answer alone ends the outage. */
  #tryAgain(): void {
    if (this.#isClosed) return
    const nowMs = this.#clock.monotonic()
    if (this.#outage && nowMs >= modeEndsMs(this.#outage.mode, this.#lastSeenMs)) this.#beginOutage()
    if (!this.#isProbing && this.#outage) this.#ask([])
  }

  /** A state in this process decides, by the rules of the outage. */
  #decideHere(steps: PendingStep[]): void {
    if (this.#clock.monotonic() >= modeEndsMs(this.#outage!.mode, this.#lastSeenMs)) {
      this.#steps = [...steps, ...this.#steps]
      this.#beginOutage()
      return
    }
    const { mode, rules, state } = this.#outage!
    if (rules === undefined) {
      // Nothing may be granted. Whoever waits goes on waiting; the rest is told when shared state is back.
      for (const { step, settle } of steps) if (step.op !== 'book') settle?.(undefined)
      this.#mustTell = true
      return
    }
    const sentMs = this.#clock.monotonic()
    const { owner } = this.#options
    const asked = { owner, sinceMs: -1, rules, steps: steps.map(({ step }) => step) }
    const reply = exchange(state, asked, this.#wallMs())
    this.#tell(steps, { ...reply, adopted: [] }, sentMs, arriveByMs(mode, this.#lastSeenMs))
  }

  #wallMs(): number {
    return Math.floor(this.#clock.now() / 1000)
  }
}
