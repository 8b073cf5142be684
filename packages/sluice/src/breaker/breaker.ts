/** Where a breaker stands. An open one knows until when, a half-open one since when its probe is out. */
type State =
  | { readonly name: 'closed'; readonly failures: number }
  | { readonly name: 'open'; readonly untilMs: number }
  | { readonly name: 'half-open'; readonly probeSinceMs: number }

export interface BreakerOptions {
  /** How many failures in a row open it. */
  readonly failures: number
  /** How long it stays open before one probe may pass. */
  readonly cooldownMs: number
  /** How long a probe may take to tell how it went; after that another may pass. 30 s by default. */
  readonly probeMs?: number
  readonly onChange?: (state: State['name']) => void
}

/** What a call that may go out carries until it tells how it went: under which state of the breaker it left. */
export type Pass = number

/**
 * Stops asking what keeps failing. Time arrives as an argument; it has no timers, and a clock that steps back cannot keep it open for
 * longer than one cooldown.
 *
 *     closed --failures in a row--> open --cooldown--> half-open --probe succeeds--> closed
 *                                    ^---------------probe fails---'
 *
 * Only what left under the present state counts: a call that was out before the breaker opened says nothing about now, so a thousand
 * of them that fail late neither keep it open nor let a second probe out beside the first.
 *
 * @example
 * const pass = breaker.enter(performance.now())
 * if (pass === undefined) return fallback
 * // ... the call ...
 * breaker.succeeded(pass) // or breaker.failed(pass, performance.now())
 */
export class Breaker {
  readonly #options: BreakerOptions
  #state: State = { name: 'closed', failures: 0 }
  #pass: Pass = 1

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get state(): State['name'] {
    return this.#state.name
  }

  /** The pass of every call while closed; else undefined, and `enter` tells. Saves reading the clock on the common path. */
  get pass(): Pass | undefined {
    return this.#state.name === 'closed' ? this.#pass : undefined
  }

  /** A pass for a call that may go out, undefined when it may not. When half-open only one may, until it has told how it went. */
  enter(nowMs: number): Pass | undefined {
    const state = this.#state
    if (state.name === 'closed') return this.#pass
    if (state.name === 'open') {
      if (nowMs < state.untilMs && state.untilMs - nowMs <= this.#options.cooldownMs) return undefined
    } else {
      const { probeMs = 30_000 } = this.#options
      if (nowMs >= state.probeSinceMs && nowMs - state.probeSinceMs < probeMs) return undefined
    }
    this.#become({ name: 'half-open', probeSinceMs: nowMs })
    return this.#pass
  }

  succeeded(pass: Pass): void {
    if (pass !== this.#pass) return
    const state = this.#state
    if (state.name === 'half-open') this.#become({ name: 'closed', failures: 0 })
    else if (state.name === 'closed' && state.failures > 0) this.#state = { name: 'closed', failures: 0 }
  }

  failed(pass: Pass, nowMs: number): void {
    if (pass !== this.#pass) return
    const state = this.#state
    const failures = state.name === 'closed' ? state.failures + 1 : Infinity
    if (failures >= this.#options.failures) this.#become({ name: 'open', untilMs: nowMs + this.#options.cooldownMs })
    else this.#state = { name: 'closed', failures }
  }

  #become(state: State): void {
    const changed = state.name !== this.#state.name
    this.#pass += 1
    this.#state = state
    if (changed) this.#options.onChange?.(state.name)
  }
}
