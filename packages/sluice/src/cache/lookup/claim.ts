import { randomBytes } from 'node:crypto'
import type { Timer } from '../../core/clock.ts'
import type { StoredValue } from '../link/cache-link.ts'
import { beginningOf } from '../link/stored-value.ts'
import type { CacheCore, ReadMark } from './cache-core.ts'
import type { Entry } from './entry.ts'

const process = randomBytes(9).toString('base64url')
let tokens = 0

/**
 * The right to fill a key, which one process has at a time. Its token is a fencing token: what a holder stores after it
 * lost the claim, because it hung, died or the key was invalidated, is refused.
 */
export class Claim {
  readonly #core: CacheCore
  readonly #key: string
  readonly #token: string
  #timer: Timer | undefined
  #over = false
  /** What another process stored meanwhile, and when it was requested. */
  stored: StoredValue | undefined
  mark: ReadMark

  constructor(core: CacheCore, key: string) {
    this.#core = core
    this.#key = key
    this.mark = core.mark()
    tokens += 1
    this.#token = `${process}.${tokens}`
  }

  /** Tries once. Undefined when Redis does not answer. */
  async tryOnce(
    rejected: string,
    withinMs: number = this.#core.options.redisDeadlineMs,
  ): Promise<'stored' | 'granted' | 'held' | undefined> {
    const { claimMs } = this.#core.options
    this.mark = this.#core.mark()
    const reply = await this.#core.redis!.ask(
      (link, ms) => link.claim(this.#key, this.#token, claimMs, rejected, ms),
      withinMs,
    )
    if (reply?.kind === 'stored') this.stored = reply.stored
    return reply?.kind
  }

  /**
   * Tries until the claim is granted or there is a value that `use` accepts; waits while another process holds it,
   * which is no longer than that fetch may take and a claim outlives its holder.
   */
  async acquire<T>(rejected: string, firstLeft: () => number, use: () => T | undefined): Promise<T | boolean> {
    const { clock, options } = this.#core
    const endMs = clock.monotonic() + options.fetchDeadlineMs + options.claimMs
    let withinMs = firstLeft()
    let unusable = rejected
    for (let waitMs = 2; clock.monotonic() < endMs && !this.#core.isClosed; waitMs = Math.min(waitMs * 1.5, 25)) {
      const reply = await this.tryOnce(unusable, withinMs)
      if (reply === 'granted') return true
      if (reply === undefined) return false
      withinMs = options.redisDeadlineMs
      if (reply === 'held') await this.#core.sleep(waitMs * (0.75 + this.#core.random() / 2))
      else {
        const used = use()
        if (used !== undefined) return used
        unusable = beginningOf(this.stored)
      }
    }
    return false
  }

  /** Renews the claim until it ends. */
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

  /** Stores the value of an entry under the claim. No caller waits for it. */
  store(entry: Entry, bytes: Buffer, keepMs: number): void {
    this.#end(async (deadlineMs) => {
      const { redis } = this.#core
      const id = await redis!.ask((link, ms) => link.store(this.#key, this.#token, bytes, keepMs, ms), deadlineMs)
      if (id !== undefined && entry.id === 0) entry.id = id
    })
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
