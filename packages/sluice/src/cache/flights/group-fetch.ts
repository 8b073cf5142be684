import { SluiceError } from '../../core/errors.ts'
import type { FetchContext, FetchMany } from '../cache.ts'
import type { DefinedKey } from '../keys/cache-key.ts'
import type { Fetches } from './fetches.ts'
import type { Fetch } from './flight.ts'

/** A key that waits for a fetch of many. */
interface Waiting {
  readonly key: DefinedKey
  readonly context: FetchContext
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Fetches keys together: those that are missing in one turn of the event loop. */
export class GroupFetch {
  readonly #fetch: FetchMany<unknown>
  readonly #fetches: Fetches
  #waiting: Waiting[] = []

  constructor(fetch: FetchMany<unknown>, fetches: Fetches) {
    this.#fetch = fetch
    this.#fetches = fetches
  }

  /** The fetch of one of the keys. */
  of(key: DefinedKey): Fetch {
    const fetch = (context: FetchContext): Promise<unknown> =>
      new Promise((resolve, reject) => {
        if (this.#waiting.length === 0) setImmediate(() => this.#start())
        this.#waiting.push({ key, context, resolve, reject })
      })
    return Object.assign(fetch, { isGrouped: true as const })
  }

  #start(): void {
    const group = this.#waiting
    this.#waiting = []
    const [first] = group
    this.#fetches
      .inTurn(first!.key.spec.name, () => this.#run(group, first!.context))
      .catch((error) => {
        for (const { reject } of group) reject(error)
      })
  }

  async #run(group: readonly Waiting[], { signal }: FetchContext): Promise<void> {
    const keys = group.map(({ key }) => key)
    const afterInvalidation = group.some(({ context }) => context.afterInvalidation)
    const values = await this.#fetch(keys, { signal, afterInvalidation })
    if (values?.length !== keys.length)
      throw new SluiceError('SLUICE_INVALID_OPTION', 'the fetch of many keys must return one value for each, in order')
    for (const [index, { resolve }] of group.entries()) resolve(values[index])
  }
}
