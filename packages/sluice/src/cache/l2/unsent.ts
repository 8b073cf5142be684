import { everythingScope } from '../keys/cache-key.ts'

/** With more invalidations than this while Redis is away, they are replaced by one: everything is invalidated. */
const maxQueued = 10_000

/** The invalidations that have not reached Redis yet. What Redis has of their keys is outdated. */
export class UnsentInvalidations {
  readonly #queued = new Set<string>()
  #sending: ReadonlySet<string> = new Set()
  #times = 0

  /** How often something was added. */
  get times(): number {
    return this.#times
  }

  add(scopes: readonly string[]): void {
    this.#times += 1
    for (const scope of scopes) this.#queued.add(scope)
    if (this.#queued.size <= maxQueued) return
    this.#queued.clear()
    this.#queued.add(everythingScope)
  }

  remove(scope: string): void {
    this.#queued.delete(scope)
  }

  /** Whether one of them covers this key or one of these scopes. */
  covers(key: string, scopes: readonly string[]): boolean {
    if (this.#queued.size === 0 && this.#sending.size === 0) return false
    const isIn = (unsent: ReadonlySet<string>): boolean =>
      unsent.has(`k:${key}`) || scopes.some((scope) => unsent.has(scope))
    return isIn(this.#queued) || isIn(this.#sending)
  }

  /** Sends all of them together; those added meanwhile follow while `send` resolves to true. */
  send(send: (scopes: readonly string[]) => Promise<boolean>, failed: (error: unknown) => void): void {
    if (this.#queued.size === 0 || this.#sending.size > 0) return
    const scopes = [...this.#queued]
    this.#sending = new Set(scopes)
    this.#queued.clear()
    const ended = (): void => {
      this.#sending = new Set()
    }
    send(scopes).then(
      (goOn) => {
        ended()
        if (goOn) this.send(send, failed)
      },
      (error) => {
        ended()
        this.add(scopes)
        failed(error)
      },
    )
  }
}
