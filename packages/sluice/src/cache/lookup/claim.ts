import { randomBytes } from 'node:crypto'
import type { Timer } from '../../core/clock.ts'
import type { StoredValue } from '../link/cache-link.ts'
import type { CacheCore } from './cache-core.ts'

const process = randomBytes(9).toString('base64url')
let tokens = 0

/**
 * The right to fill a key, which one process has at a time. Its token fences: what a holder stores after it lost the
 * claim, because it hung, died or the key was invalidated, is refused.
 */
export class Claim {
  readonly #core: CacheCore
  readonly #key: string
  readonly #token: string
  #timer: Timer | undefined
  #over = false
  /** What another process stored meanwhile. */
  stored: StoredValue | undefined

  constructor(core: CacheCore, key: string) {
    this.#core = core
    this.#key = key
    tokens += 1
    this.#token = `${process}.${tokens}`
  }

  /** Asks once. Undefined when Redis does not answer. */
  async tryOnce(
    rejected: string,
    withinMs: number = this.#core.options.redisDeadlineMs,
  ): Promise<'stored' | 'granted' | 'held' | undefined> {
    const { claimMs } = this.#core.options
    const reply = await this.#core.redis!.ask(
      (link, ms) => link.claim(this.#key, this.#token, claimMs, rejected, ms),
      withinMs,
    )
    if (reply?.kind === 'stored') this.stored = reply.stored
    return reply?.kind
  }

  /**
   * Asks until the claim is granted or a value is there; waits as long as another process holds it, which is no longer
   * than that fetch may take and a claim outlives its holder.
   */
  async acquire(rejected: string, firstLeft: () => number): Promise<'stored' | 'granted' | undefined> {
    const { clock, options } = this.#core
    const endMs = clock.monotonic() + options.fetchDeadlineMs + options.claimMs
    let withinMs = firstLeft()
    for (let waitMs = 2; clock.monotonic() < endMs && !this.#core.isClosed; waitMs = Math.min(waitMs * 1.5, 25)) {
      const reply = await this.tryOnce(rejected, withinMs)
      if (reply !== 'held') return reply
      await this.#core.sleep(waitMs * (0.75 + this.#core.random() / 2))
      withinMs = options.redisDeadlineMs
    }
    return undefined
  }

  /** Renews the claim until it is over. */
  hold(): void {
    if (this.#timer !== undefined || this.#over) return
    const { clock, options } = this.#core
    const renew = async (): Promise<void> => {
      const kept = await this.#core.redis!.ask(
        (link, ms) => link.renew(this.#key, this.#token, options.claimMs, ms),
        options.redisDeadlineMs,
      )
      if (kept !== false && !this.#over) plan()
    }
    const plan = (): void => {
      this.#timer = clock.setTimeout(() => void renew(), options.claimMs / 3)
      this.#timer.unref?.()
    }
    plan()
  }

  /** Stores the value under the claim. Nobody waits for it. */
  store(bytes: Buffer, keepMs: number): void {
    this.#end((deadlineMs) =>
      this.#core.redis!.ask((link, ms) => link.store(this.#key, this.#token, bytes, keepMs, ms), deadlineMs),
    )
  }

  release(): void {
    this.#end((deadlineMs) =>
      this.#core.redis!.ask((link, ms) => link.release(this.#key, this.#token, ms).then(() => true), deadlineMs),
    )
  }

  #end(send: (deadlineMs: number) => Promise<unknown>): void {
    if (this.#over) return
    this.#over = true
    this.#core.clock.clearTimeout(this.#timer)
    const { sending, options } = this.#core
    const sent = send(options.redisDeadlineMs).finally(() => sending.delete(sent))
    sending.add(sent)
  }
}
