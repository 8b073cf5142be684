import type { Clock, Timer } from '../../core/clock.ts'
import { toError } from '../../core/to-error.ts'
import { exchange } from '../booking/exchange.ts'
import type { BookingRules, ExchangeReply, Step, StepResult, Units } from '../booking/messages.ts'
import { newState, type UpstreamState } from '../booking/state.ts'
import { arriveByMs, modeEndsMs, type OutageMode, outageMode, outageRules } from './outage.ts'
import type { BookingPort } from './ports/booking-port.ts'
import { ReplicaCount } from './replica-count.ts'

/** Calls back with the result of a step; undefined when shared state could not be reached. */
export type Settle = (result: StepResult | undefined) => void

export interface PendingStep {
  readonly step: Step
  readonly settle: Settle | undefined
}

/** The time bounds of the grants of a reply. */
export interface GrantBounds {
  /** When they were requested, by the monotonic clock. */
  readonly sentMs: number
  /** By when a request written on them must have arrived. */
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
  /** How many replicas share the limits, if the application configured it. */
  readonly replicas: number | undefined
  /** All that is known here: what is taken, and which calls wait. */
  readonly known: () => PendingStep[]
  /** Units that this process holds. */
  readonly held: () => Units
  /** Called before the results of the steps and the reply. */
  readonly onBounds: (bounds: GrantBounds) => void
  readonly onReply: (reply: ExchangeReply) => void
  readonly onFailure: (error: Error) => void
}

/** How this process decides while shared state cannot be reached. */
interface Outage {
  readonly mode: OutageMode
  readonly state: UpstreamState
  /** What this process held, and how many shared the limits, when the outage began. */
  readonly held: Units
  readonly replicas: number | undefined
  /** The rules of the policy, and those derived from them; both change when the policy does. */
  policy: BookingRules
  rules: BookingRules | undefined
}

/** How often an outage is probed. */
const probeMs = 250

/**
 * Sends steps to shared state, one exchange at a time, so that they arrive in order. While shared state cannot be
 * reached, a state in this process decides by the rules of the outage. When it can be reached again, everything known
 * here is sent to it.
 */
export class ExchangeLoop {
  readonly #options: ExchangeLoopOptions
  readonly #clock: Clock
  #steps: PendingStep[] = []
  #isScheduled = false
  #isBusy = false
  #isProbing = false
  #mustRegister = false
  /** When the last exchange that was answered was sent. */
  #lastSeenMs = -1
  #epoch: string | undefined
  readonly #replicas: ReplicaCount
  #outage: Outage | undefined
  #probe: Timer | undefined
  #isClosed = false

  constructor(options: ExchangeLoopOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#replicas = new ReplicaCount(options.replicas)
  }

  /** Which mode decides now; undefined while shared state does. */
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
   * Exchanges in this tick, also when there are no steps: that renews this process and fetches what was assigned to it.
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
    if (this.#mustRegister) this.#registerKnown(steps)
    if (this.#outage) this.#decideHere(steps)
    else this.#send(steps)
  }

  #registerKnown(steps: PendingStep[]): void {
    this.#mustRegister = false
    const known = this.#options.known()
    const asked = new Set(known.map(({ step }) => ('id' in step ? step.id : '')))
    // What was about to be booked is included in what is known here.
    const others = steps.filter(({ step }) => !(step.op === 'book' && asked.has(step.id)))
    steps.splice(0, steps.length, ...known, ...others)
  }

  #send(steps: PendingStep[]): void {
    const { port, upstream, owner, rules, deadlineMs } = this.#options
    const sentMs = this.#clock.monotonic()
    const sinceMs = this.#lastSeenMs < 0 ? -1 : sentMs - this.#lastSeenMs
    const asked = { owner, sinceMs, rules: rules(), steps: steps.map(({ step }) => step) }
    const isProbe = this.#outage !== undefined
    // While an outage is probed, the state in this process continues to decide.
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
    this.#mustRegister ||= isNew || isBack
    this.#deliver(steps, reply, sentMs, Infinity)
  }

  #deliver(steps: readonly PendingStep[], reply: ExchangeReply, sentMs: number, arriveBy: number): void {
    this.#options.onBounds({ sentMs, arriveByMs: arriveBy })
    for (const [index, { settle }] of steps.entries()) settle?.(reply.results[index])
    this.#options.onReply(reply)
    if (this.#steps.length > 0 || this.#mustRegister) this.exchangeSoon()
  }

  /**
   * It is unknown whether the steps were applied. That does not matter: everything known here will be sent, and
   * replaces what was recorded there.
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
      const [policy, held] = [this.#options.rules(), this.#options.held()]
      const rules = outageRules(mode, policy, held, replicas)
      this.#outage = { mode, state: newState(this.#wallMs()), held, replicas, policy, rules }
      this.#mustRegister = true
      this.exchangeSoon()
    }
    const waitMs = Math.min(probeMs, Math.max(1, modeEndsMs(mode, this.#lastSeenMs) - nowMs))
    this.#clock.clearTimeout(this.#probe)
    this.#probe = this.#clock.setTimeout(() => this.#tryAgain(), waitMs)
    this.#probe.unref?.()
  }

  /** Probes shared state with an empty exchange; an answer ends the outage. */
  #tryAgain(): void {
    if (this.#isClosed) return
    const nowMs = this.#clock.monotonic()
    if (this.#outage && nowMs >= modeEndsMs(this.#outage.mode, this.#lastSeenMs)) this.#beginOutage()
    if (!this.#isProbing && this.#outage) this.#send([])
  }

  /** A state in this process decides, by the rules of the outage. */
  #decideHere(steps: PendingStep[]): void {
    if (this.#clock.monotonic() >= modeEndsMs(this.#outage!.mode, this.#lastSeenMs)) {
      this.#steps = [...steps, ...this.#steps]
      this.#beginOutage()
      return
    }
    const { mode, state } = this.#outage!
    const rules = this.#outageRules(this.#outage!)
    if (rules === undefined) {
      // Nothing may be granted. Waiters keep waiting; the rest is sent when shared state is back.
      for (const { step, settle } of steps) if (step.op !== 'book') settle?.(undefined)
      this.#mustRegister = true
      return
    }
    const sentMs = this.#clock.monotonic()
    const { owner } = this.#options
    const asked = { owner, sinceMs: -1, rules, steps: steps.map(({ step }) => step) }
    const reply = exchange(state, asked, this.#wallMs())
    this.#deliver(steps, { ...reply, adopted: [] }, sentMs, arriveByMs(mode, this.#lastSeenMs))
  }

  /** A policy that changes meanwhile is followed. It can never give more than was held when the outage began. */
  #outageRules(outage: Outage): BookingRules | undefined {
    const policy = this.#options.rules()
    if (outage.policy !== policy) {
      outage.policy = policy
      outage.rules = outageRules(outage.mode, policy, outage.held, outage.replicas)
    }
    return outage.rules
  }

  #wallMs(): number {
    return Math.floor(this.#clock.now() / 1000)
  }
}
