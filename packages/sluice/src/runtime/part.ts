import { checkOptionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { withinTime } from './within-time.ts'

/** How a part is, for readiness probes and people. */
export interface PartHealth {
  /** Whether it does its work as promised now. */
  readonly ready: boolean
  /** Why it is not ready, in full sentences; empty when it is. */
  readonly reasons: readonly string[]
  /** What an operator should know all the same. */
  readonly warnings: readonly string[]
}

export interface CloseOptions {
  /** How long to wait for what is in flight; each part has its own default. */
  readonly within?: Duration
}

/** What every part has: limiter, egress, cache, presence, shipper, capacity, breaker, pipeline. */
export interface Part<Events> extends AsyncDisposable {
  /** Adds a listener; the returned function removes it. A name that the part does not have is refused. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void
  /** How it stands now, as plain JSON. */
  stats(): unknown
  /** Asks what the part depends on, unless somebody has within the last second; settles within 500 ms. */
  health(): Promise<PartHealth>
  /** Ends what is in flight and frees what the part opened. Calls after it are refused. */
  close(options?: CloseOptions): Promise<unknown>
}

/** Reads the options of `close`: how long to wait, if that is bounded. */
export function closeWithinMs(owner: string, options: CloseOptions): number | undefined {
  checkOptionNames(owner, options, ['within'])
  return options.within === undefined ? undefined : parseDuration(options.within, `${owner} within`)
}

/**
 * Waits for the steps of a close, for so long in all; without a bound, until each has ended. What is not done by then
 * ends on its own.
 */
export function closeInTime(withinMs: number | undefined, clock: Clock): (step: Promise<unknown>) => Promise<unknown> {
  if (withinMs === undefined) return (step) => step
  const endMs = clock.monotonic() + withinMs
  return (step) => {
    const ms = Math.max(0, endMs - clock.monotonic())
    return withinTime(step, { ms, clock, late: () => undefined }).catch(() => undefined)
  }
}

/** How long an answer of a dependency counts, and how long it may take. */
const answerCountsMs = 1000
export const healthWithinMs = 500

/** Asks a dependency at most once a second, with one question for all callers at the same time. */
export class HealthQuestion<T> {
  readonly #ask: (withinMs: number) => Promise<T>
  readonly #clock: Clock
  #answer: { readonly value: T; readonly atMs: number } | undefined
  #asking: Promise<T> | undefined

  constructor(ask: (withinMs: number) => Promise<T>, clock: Clock) {
    this.#ask = ask
    this.#clock = clock
  }

  /** `maxAgeMs`: where it is known that an older answer is no longer true. */
  async answer(maxAgeMs: number = answerCountsMs): Promise<T> {
    const known = this.#answer
    if (known !== undefined && this.#clock.monotonic() - known.atMs < Math.min(maxAgeMs, answerCountsMs))
      return known.value
    this.#asking ??= this.#askNow()
    return this.#asking
  }

  async #askNow(): Promise<T> {
    try {
      const value = await this.#ask(healthWithinMs)
      this.#answer = { value, atMs: this.#clock.monotonic() }
      return value
    } finally {
      this.#asking = undefined
    }
  }
}
