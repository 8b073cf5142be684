import { SluiceError } from '../core/errors.ts'

/**
 * A call took too long. It is named like the error of `AbortSignal.timeout`, so that both can be told by their name.
 */
export class TimeoutError extends SluiceError {
  override readonly name = 'TimeoutError'

  constructor(what: string, ms: number) {
    super('SLUICE_TIMEOUT', `${what} did not settle within ${ms} ms.`, { transient: true })
  }
}
