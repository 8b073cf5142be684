import type { BreakerState } from '../../breaker/circuit.ts'
import type { Clock } from '../../core/clock.ts'
import { quietly } from '../files/file-system.ts'
import { type Answer, afterSetBack, type BackoffRules, breakerOf, next, waitMs } from './next.ts'
import { type FlushState, freshState } from './state.ts'
import type { StateFile } from './state-file.ts'

const saveEveryMs = 1000

/** The state of the flush in memory and in its file. */
export class FlushMemory {
  readonly #file: StateFile
  readonly #rules: BackoffRules
  readonly #clock: Clock
  readonly #random: () => number
  readonly #onBreaker: (state: BreakerState) => void
  #state: FlushState = freshState
  /** When the next attempt is due by the monotonic clock, which cannot be set back. */
  #dueMs = 0
  #savedMs = Number.NEGATIVE_INFINITY
  #changed = false
  #breaker: BreakerState = 'closed'

  constructor(
    file: StateFile,
    rules: BackoffRules,
    clock: Clock,
    random: () => number,
    onBreaker: (state: BreakerState) => void,
  ) {
    this.#file = file
    this.#rules = rules
    this.#clock = clock
    this.#random = random
    this.#onBreaker = onBreaker
  }

  get state(): FlushState {
    return this.#state
  }

  get nowMs(): number {
    return Math.floor(this.#clock.now() / 1000)
  }

  /** How many events were set aside since the server last accepted one. */
  get refusalsInRow(): number {
    return this.#state.consecutiveRefusals ?? 0
  }

  /** How long until an attempt is allowed; 0 for now. */
  get waitMs(): number {
    const leftMs = Math.max(0, this.#dueMs - this.#clock.monotonic())
    return Math.min(leftMs, waitMs(this.#state, this.nowMs, this.#rules))
  }

  get breaker(): BreakerState {
    return breakerOf(this.#state, this.nowMs, this.#rules)
  }

  /** Read again for each pass: another process, or an operator with `--reset`, may have changed it. */
  async load(): Promise<void> {
    const stored = await this.#file.load()
    const state = afterSetBack(stored, this.nowMs)
    this.#become(state)
    if (state !== stored) await quietly(this.#file.save(state))
  }

  apply(answer: Answer): void {
    this.#changed = true
    this.#become(next(this.#state, answer, this.nowMs, this.#rules, this.#random()))
  }

  /** Saves what has changed: from time to time while all goes well, and at once when `important`. */
  async save(pendingEventCount: number, important: boolean): Promise<void> {
    if (!this.#changed && pendingEventCount === this.#state.pendingEventCount) return
    this.#changed = true
    this.#state = { ...this.#state, pendingEventCount }
    const nowMs = this.#clock.monotonic()
    if (!important && nowMs - this.#savedMs < saveEveryMs) return
    this.#savedMs = nowMs
    await this.#file.save(this.#state)
    this.#changed = false
  }

  #become(state: FlushState): void {
    if (state.nextAttemptAfter !== this.#state.nextAttemptAfter) {
      this.#dueMs = this.#clock.monotonic() + waitMs(state, this.nowMs, this.#rules)
    }
    this.#state = state
    const { breaker } = this
    if (breaker !== this.#breaker) this.#onBreaker(breaker)
    this.#breaker = breaker
  }
}
