import type { Timer } from '../../core/clock.ts'
import type { Entry } from '../l1/entry.ts'
import type { Made } from '../l1/make-entry.ts'
import type { L2 } from '../l2/l2.ts'
import type { ResolvedOptions } from '../options.ts'

/**
 * The right to fill a key, which one process has at a time. Its token is a fencing token: what a holder stores after it
 * lost the lock, because it hung, died or the key was invalidated, is refused.
 */
export class FillLock {
  readonly #l2: L2
  readonly #options: ResolvedOptions
  /** What is sent to Redis in the background, so that the cache can wait for it when it closes. */
  readonly #sending: Set<Promise<unknown>>
  readonly #key: string
  readonly #token: string
  #timer: Timer | undefined
  #over = false

  constructor(l2: L2, options: ResolvedOptions, sending: Set<Promise<unknown>>, key: string, token: string) {
    this.#l2 = l2
    this.#options = options
    this.#sending = sending
    this.#key = key
    this.#token = token
  }

  /** Renews the lock until it ends. */
  hold(): void {
    if (this.#timer !== undefined || this.#over) return
    const { clock, fillLockMs, redisDeadlineMs } = this.#options
    const renew = async (): Promise<void> => {
      const kept = await this.#l2.ask((link, ms) => link.renew(this.#key, this.#token, ms), redisDeadlineMs)
      if (kept !== false && !this.#over) plan()
    }
    const plan = (): void => {
      this.#timer = clock.setTimeout(() => void renew(), fillLockMs / 3)
      this.#timer.unref?.()
    }
    plan()
  }

  /** Stores an entry under the lock. No caller waits for it. */
  store(entry: Entry, { write, keepMs }: Made): void {
    this.#end(async (deadlineMs) => {
      const store = this.#l2.ask((link, ms) => link.store(this.#key, this.#token, write(), keepMs, ms), deadlineMs)
      const id = await store
      if (id !== undefined && entry.id === 0) entry.id = id
    })
  }

  release(): void {
    this.#end((deadlineMs) => this.#l2.ask((link, ms) => link.release(this.#key, this.#token, ms), deadlineMs))
  }

  #end(send: (deadlineMs: number) => Promise<unknown>): void {
    if (this.#over) return
    this.#over = true
    this.#options.clock.clearTimeout(this.#timer)
    const sent = send(this.#options.redisDeadlineMs).finally(() => this.#sending.delete(sent))
    this.#sending.add(sent)
  }
}
