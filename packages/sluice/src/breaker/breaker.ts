/** Where a breaker stands. An open one knows until when, a half-open one whether its probe is out. */
type State =
  | { readonly name: 'closed'; readonly failures: number }
  | { readonly name: 'open'; readonly untilMs: number }
  | { readonly name: 'half-open'; readonly probing: boolean }

export interface BreakerOptions {
  /** How many failures in a row open it. */
  readonly failures: number
  /** How long it stays open before one probe may pass. */
  readonly cooldownMs: number
  readonly onChange?: (state: State['name']) => void
}

/**
 * Stops asking what keeps failing. Time arrives as an argument; it has no timers, and a clock that steps back cannot keep it open for
 * longer than one cooldown.
 */
export class Breaker {
  readonly #options: BreakerOptions
  #state: State = { name: 'closed', failures: 0 }

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get state(): State['name'] {
    return this.#state.name
  }

  /** Whether a call may go out. When half-open only one may, until it has told how it went. */
  tryEnter(nowMs: number): boolean {
    const state = this.#state
    if (state.name === 'closed') return true
    if (state.name === 'half-open') {
      if (state.probing) return false
      this.#state = { name: 'half-open', probing: true }
      return true
    }
    if (nowMs < state.untilMs && state.untilMs - nowMs <= this.#options.cooldownMs) return false
    this.#become({ name: 'half-open', probing: true })
    return true
  }

  succeeded(): void {
    const state = this.#state
    if (state.name === 'closed') {
      if (state.failures > 0) this.#state = { name: 'closed', failures: 0 }
    } else if (state.name === 'half-open') {
      this.#become({ name: 'closed', failures: 0 })
    }
    // A call that was out before the breaker opened says nothing about now.
  }

  failed(nowMs: number): void {
    const state = this.#state
    if (state.name === 'half-open') this.#become({ name: 'open', untilMs: nowMs + this.#options.cooldownMs })
    else if (state.name === 'closed') {
      const failures = state.failures + 1
      if (failures >= this.#options.failures) this.#become({ name: 'open', untilMs: nowMs + this.#options.cooldownMs })
      else this.#state = { name: 'closed', failures }
    }
  }

  #become(state: State): void {
    this.#state = state
    this.#options.onChange?.(state.name)
  }
}
