import { SluiceError } from '../core/errors.ts'

/** The call was not made: the breaker is open, or half-open with all its probes in flight. */
export class BreakerOpenError extends SluiceError {
  override readonly name = 'BreakerOpenError'
  /** The key or name of the breaker. */
  readonly key: string
  readonly #retryAfterMs: () => number

  constructor(key: string, retryAfterMs: () => number) {
    super('SLUICE_BREAKER_OPEN', `The breaker ${JSON.stringify(key)} is open: its calls have failed repeatedly.`, {
      transient: true,
    })
    this.key = key
    this.#retryAfterMs = retryAfterMs
  }

  /** For how much longer no call is admitted; 0 when a probe is in flight or may be made now. */
  get retryAfterMs(): number {
    return this.#retryAfterMs()
  }
}
