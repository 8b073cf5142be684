import type { Strategy } from './strategy.ts'

/** The states of a breaker. */
export const breakerStates = ['closed', 'open', 'half-open'] as const
export type BreakerState = (typeof breakerStates)[number]

interface Probe {
  readonly pass: Pass
  readonly sinceMs: number
}

interface HalfOpen {
  readonly name: 'half-open'
  /** How many are in flight. */
  readonly probes: Probe[]
  succeeded: number
}

type State =
  | { readonly name: 'closed' }
  /** With an infinite cooldown, until it is restored. */
  | { readonly name: 'open'; readonly sinceMs: number; readonly cooldownMs: number }
  | HalfOpen

/** As much of a circuit as outlives its process. */
export interface SavedCircuit {
  /** For how much longer it is open; Infinity when it is isolated. */
  readonly openForMs: number
  /** How often it opened since it was last closed. */
  readonly openings: number
}

export interface CircuitOptions {
  /** Decides when it opens. */
  readonly strategy: Strategy
  /** The cooldown of the nth opening in a row; `openings` is 1 after the breaker was closed. */
  readonly cooldownMs: (openings: number) => number
  /** How many probes may be in flight when half-open; it closes once as many have succeeded. 1 by default. */
  readonly probes?: number
  /** A probe that has not settled after this time has failed. 30 s by default. */
  readonly probeMs?: number
  readonly onChange?: (state: BreakerState, previous: BreakerState) => void
}

/** What an admitted call carries until it settles. It identifies the state that admitted the call. */
export type Pass = number

const closed: State = { name: 'closed' }

/**
 * The state machine of a breaker. Time arrives as an argument; it has no timers, and a clock that steps back cannot
 * keep it open for longer than one cooldown.
 *
 *     closed --strategy--> open --cooldown--> half-open --all probes succeed--> closed
 *                           ^--------------a probe fails---'
 *
 * Only calls that the current state admitted count: a call from before the breaker opened does not show the current
 * condition, so a thousand of them that fail late neither keep it open nor admit a second probe beside the first.
 *
 * @example
 * const pass = circuit.enter(performance.now())
 * if (pass !== undefined) {
 *   // ... the call ...
 *   circuit.succeeded(pass, performance.now()) // or circuit.failed(...), or circuit.cancelled(pass)
 * }
 */
export class Circuit {
  readonly #strategy: Strategy
  readonly #cooldownMs: (openings: number) => number
  readonly #probes: number
  readonly #probeMs: number
  readonly #onChange: CircuitOptions['onChange']
  #state: State = closed
  #pass: Pass = 1
  /** How often it opened since it was last closed. */
  #openings = 0

  constructor({ strategy, cooldownMs, probes = 1, probeMs = 30_000, onChange }: CircuitOptions) {
    this.#strategy = strategy
    this.#cooldownMs = cooldownMs
    this.#probes = probes
    this.#probeMs = probeMs
    this.#onChange = onChange
  }

  get state(): BreakerState {
    return this.#state.name
  }

  /**
   * The pass of every call while closed, otherwise undefined: then `enter` decides. Avoids reading the clock on the
   * common path.
   */
  get pass(): Pass | undefined {
    return this.#state === closed ? this.#pass : undefined
  }

  /** Whether it is open until it is restored. */
  get isIsolated(): boolean {
    return this.#state.name === 'open' && this.#state.cooldownMs === Infinity
  }

  /** Opens it, until it is restored. */
  isolate(nowMs: number): void {
    if (!this.isIsolated) this.#become({ name: 'open', sinceMs: nowMs, cooldownMs: Infinity })
  }

  /** Closes it, whatever opened it. */
  restore(): void {
    if (this.#state !== closed) this.#close()
  }

  /** What to open another one with; undefined while it is closed. */
  save(nowMs: number): SavedCircuit | undefined {
    if (this.#state === closed) return undefined
    return { openForMs: this.retryAfterMs(nowMs), openings: this.#openings }
  }

  /** Opens a new one as far as another one was. It is open for no longer than it would be by itself. */
  load({ openForMs, openings }: SavedCircuit, nowMs: number): void {
    this.#openings = Math.max(1, openings)
    const cooldownMs = openForMs === Infinity ? Infinity : Math.min(openForMs, this.#cooldownMs(this.#openings))
    this.#become({ name: 'open', sinceMs: nowMs, cooldownMs })
  }

  /** For how much longer no call is admitted; 0 when one is, or may be at any moment because a probe is in flight. */
  retryAfterMs(nowMs: number): number {
    const state = this.#state
    return state.name === 'open' && nowMs >= state.sinceMs ? Math.max(0, state.sinceMs + state.cooldownMs - nowMs) : 0
  }

  /**
   * A pass for a call that is admitted, otherwise undefined. When half-open, only a limited number of probes is
   * admitted.
   */
  enter(nowMs: number): Pass | undefined {
    if (this.#state.name === 'half-open') this.#expireProbes(this.#state.probes, nowMs)
    if (this.#state.name === 'open') {
      const elapsedMs = nowMs - this.#state.sinceMs
      if (this.isIsolated || (elapsedMs >= 0 && elapsedMs < this.#state.cooldownMs)) return undefined
      this.#become({ name: 'half-open', probes: [], succeeded: 0 })
    }
    // Read again: `onChange` may have used the breaker meanwhile.
    const state = this.#state
    if (state.name === 'closed') return this.#pass
    if (state.name === 'open' || state.probes.length + state.succeeded >= this.#probes) return undefined
    this.#pass += 1
    state.probes.push({ pass: this.#pass, sinceMs: nowMs })
    return this.#pass
  }

  /** Records that an admitted call succeeded; false when the result is late and does not count. */
  succeeded(pass: Pass, nowMs = 0, tookMs = 0): boolean {
    if (this.#state === closed) {
      if (pass !== this.#pass) return false
      if (this.#strategy.succeeded(nowMs, tookMs)) this.#open(nowMs)
      return true
    }
    const state = this.#endProbe(pass)
    if (state === undefined) return false
    state.succeeded += 1
    if (tookMs >= this.#strategy.slowMs) this.#open(nowMs)
    else if (state.succeeded >= this.#probes) this.#close()
    return true
  }

  /** Records that an admitted call failed; false when the result is late and does not count. */
  failed(pass: Pass, nowMs: number, tookMs = 0): boolean {
    if (this.#state === closed) {
      if (pass !== this.#pass) return false
      if (this.#strategy.failed(nowMs, tookMs)) this.#open(nowMs)
      return true
    }
    if (this.#endProbe(pass) === undefined) return false
    this.#open(nowMs)
    return true
  }

  /** Records that an admitted call ended without a result that counts; false when it is late. */
  cancelled(pass: Pass): boolean {
    return this.#state === closed ? pass === this.#pass : this.#endProbe(pass) !== undefined
  }

  /** Ends a probe in flight; undefined when the pass is not that of one. */
  #endProbe(pass: Pass): HalfOpen | undefined {
    const state = this.#state
    if (state.name !== 'half-open') return undefined
    const at = state.probes.findIndex((probe) => probe.pass === pass)
    if (at < 0) return undefined
    state.probes.splice(at, 1)
    return state
  }

  /** A probe that missed its deadline failed at that moment, however much later this is noticed. */
  #expireProbes(probes: readonly Probe[], nowMs: number): void {
    for (const { sinceMs } of probes) {
      if (nowMs >= sinceMs && nowMs - sinceMs < this.#probeMs) continue
      this.#open(Math.min(nowMs, sinceMs + this.#probeMs))
      return
    }
  }

  #open(sinceMs: number): void {
    this.#openings += 1
    this.#become({ name: 'open', sinceMs, cooldownMs: this.#cooldownMs(this.#openings) })
  }

  #close(): void {
    this.#openings = 0
    this.#strategy.reset()
    this.#become(closed)
  }

  #become(state: State): void {
    const previous = this.#state.name
    this.#pass += 1
    this.#state = state
    this.#onChange?.(state.name, previous)
  }
}
