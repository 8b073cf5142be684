import type { Clock } from '../../../core/clock.ts'
import type { Exchange, ExchangeReply } from '../../booking/messages.ts'
import { exchange } from '../engine/exchange.ts'
import { newState, type UpstreamState } from '../engine/state.ts'
import { onServer, silenceUs, takenOver } from './sharing.ts'

/** What a mutant changes about exchanges: a rule is left out without touching the code that has it. */
export interface Mutation {
  /** A new state. */
  readonly made?: (state: UpstreamState) => UpstreamState
  /** An exchange before it is executed, and its reply. */
  readonly asked?: (asked: Exchange, state: UpstreamState, rawUs: number) => Exchange
  readonly replied?: (reply: ExchangeReply) => ExchangeReply
  /** How long a written request is said to be on its way (ms). */
  readonly arrivalMs?: number
  /** Requests are written however old their grants are. */
  readonly ignoresWriteBy?: boolean
  /** What was granted in an answer that came too late is given back under the name of its call. */
  readonly namesByCall?: boolean
  /** The key of the limit that processes state. */
  readonly key?: string
}

/** The server of a simulation: its clock can jump, it can be frozen, lose its state, or be replaced by its replica. */
export class SimulatedServer {
  readonly #clock: Clock
  readonly #mutation: Mutation
  #state: UpstreamState | undefined
  #states = 0
  /** What the replica has, and whether it has taken over. */
  #copy: UpstreamState | undefined
  #isReplaced = false
  /** How far its clock is ahead, and how fast it runs. */
  aheadMs = 1_000_000
  readonly #speed: number
  /** Nothing is executed before this, in true time. */
  frozenUntilMs = 0

  constructor(clock: Clock, mutation: Mutation, speed = 1) {
    this.#clock = clock
    this.#mutation = mutation
    this.#speed = speed
  }

  execute(asked: Exchange): ExchangeReply {
    const rawUs = Math.floor((this.#clock.monotonic() * this.#speed + this.aheadMs) * 1000)
    const { made = (state) => state, asked: change = (each) => each, replied = (each) => each } = this.#mutation
    if (this.#isReplaced && this.#copy) {
      this.#isReplaced = false
      this.#state = made(takenOver(this.#copy, `s${++this.#states}`, asked, rawUs))
    } else if (this.#state === undefined) {
      // Before the first one there were no calls.
      const isFirst = this.#states++ === 0
      const lost = newState(rawUs, `s${this.#states}`, rawUs, rawUs + silenceUs(asked.rules))
      this.#state = isFirst ? newState(rawUs, 's1') : made(lost)
      this.#state.time.wallMs = asked.wallMs
    }
    return replied(exchange(this.#state, change(asked, this.#state, rawUs), rawUs, onServer))
  }

  wipe(): void {
    this.#state = undefined
    this.#copy = undefined
  }

  /** The replica has everything now. */
  replicate(): void {
    this.#copy = structuredClone(this.#state)
  }

  /** The replica takes over with what it has. */
  failOver(): void {
    this.#isReplaced = true
  }
}
