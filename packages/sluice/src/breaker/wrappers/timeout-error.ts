import { SluiceError } from '../../core/errors.ts'

/**
 * A call took too long. It is named like the error of `AbortSignal.timeout`, so that both are recognised by their name.
 */
export class TimeoutError extends SluiceError {
  override readonly name = 'TimeoutError'

  constructor(ms: number) {
    super('SLUICE_TIMEOUT', `The call did not settle within ${ms} ms.`, { transient: true })
  }
}
