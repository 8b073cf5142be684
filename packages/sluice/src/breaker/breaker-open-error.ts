import { SluiceError } from '../core/errors.ts'

/** The call was not made: the breaker is open, or half-open with all its probes in flight. */
export class BreakerOpenError extends SluiceError {
  override readonly name = 'BreakerOpenError'
  /** The key or name of the breaker. */
  readonly key: string
  /** For how much longer no call is admitted; 0 when a probe is in flight or may be made now. Infinity by hand. */
  declare readonly retryAfterMs: number

  constructor(key: string, retryAfterMs: () => number) {
    const why = retryAfterMs() === Infinity ? 'isolated by hand' : 'open: its calls have failed repeatedly'
    super('SLUICE_BREAKER_OPEN', `The breaker ${JSON.stringify(key)} is ${why}.`, { transient: true })
    this.key = key
    // A property of its own, unlike a getter of the class, is part of its JSON and of logs.
    Object.defineProperty(this, 'retryAfterMs', { get: retryAfterMs, enumerable: true })
  }
}
