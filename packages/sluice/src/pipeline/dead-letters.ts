import { SluiceError } from '../core/errors.ts'
import type { DeadLetter, WriteFunction } from './pipeline.ts'

/** How many records may be rejected: a number, or a share of those that were read. */
export type MaxRejected = number | `${number}%`

/** A share says nothing about a few of many records. */
const leastForShare = 1000

export interface DeadLetterOptions {
  readonly write: WriteFunction<DeadLetter> | undefined
  readonly maxRejected: MaxRejected
  /** Records read so far. */
  readonly read: () => number
  readonly written: (letter: DeadLetter) => void
}

/** Takes the records that were rejected, until they are too many. */
export class DeadLetters {
  readonly #options: DeadLetterOptions
  #count = 0

  constructor(options: DeadLetterOptions) {
    this.#options = options
  }

  /** Refuses before anything is written, so that the position stays before the record that is one too many. */
  async add(letters: readonly DeadLetter[], signal: AbortSignal): Promise<void> {
    const [first] = letters
    if (first === undefined) return
    if (this.#isTooMany(this.#count + letters.length, leastForShare)) throw this.#tooMany(letters)
    const { write, written } = this.#options
    if (write !== undefined) {
      const { partition } = first
      const records = letters.map((value) => ({ value, position: value.position }))
      const batch = { partition, records, from: undefined, next: undefined }
      await write(batch, { claim: undefined, attempt: 0, signal, reject: refuseRejection })
    }
    this.#count += letters.length
    for (const letter of letters) written(letter)
  }

  /** A share also holds for a source of few records, but not for the few that other workers left to this one. */
  checkAtEnd(isWhole: boolean): void {
    if (this.#isTooMany(this.#count, isWhole ? 1 : leastForShare)) throw this.#tooMany([])
  }

  #isTooMany(count: number, leastRead: number): boolean {
    const { maxRejected, read } = this.#options
    if (typeof maxRejected === 'number') return count > maxRejected
    const share = Number.parseFloat(maxRejected) / 100
    return read() >= leastRead && count > share * read()
  }

  #tooMany([first]: readonly DeadLetter[]): SluiceError {
    const example = first && `; the last is at ${first.position} of partition ${first.partition}: ${first.reason}`
    const remedy = this.#options.write === undefined ? '; give deadLetters and maxRejected to go on without them' : ''
    return new SluiceError(
      'SLUICE_PIPELINE_FAILED',
      `more records were rejected than maxRejected (${this.#options.maxRejected}) allows${example ?? ''}${remedy}`,
    )
  }
}

async function refuseRejection(): Promise<never> {
  throw new Error('dead letters cannot be rejected')
}
