/** Where members are written to, per channel. */
export interface MemberSink {
  join(channel: string, joining: readonly (readonly [id: string, data: string])[]): Promise<void>
  leave(channel: string, ids: readonly string[]): Promise<void>
  /** This process has no member in the channel any more. */
  forgetChannel(channel: string): Promise<void>
}

/** What this process has: the data of a member, or undefined if it is not here; and whether it has any. */
export interface LocalState {
  dataOf(channel: string, id: string): string | undefined
  has(channel: string): boolean
}

const membersPerCall = 500
/** How many channels are written at a time. */
const channelsAtOnce = 64

/**
 * Brings Redis in line with what this process has. A member that joins, changes or leaves is only marked; what is
 * written is decided when it is sent, and a channel is written by one call at a time. So a delayed join cannot be
 * written after the leave that followed it, and any number of both costs one call per 500 members.
 */
export class MemberWriter {
  readonly #sink: MemberSink
  readonly #local: LocalState
  readonly #failed: (error: unknown) => void
  /** By channel: the members whose state in Redis may differ from this process. */
  #marked = new Map<string, Set<string>>()
  /** The round that is being written, and the one after it, which includes what is marked now. */
  #writing: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(sink: MemberSink, local: LocalState, failed: (error: unknown) => void) {
    this.#sink = sink
    this.#local = local
    this.#failed = failed
  }

  /** Whether something is still to be written. */
  get isBehind(): boolean {
    return this.#marked.size > 0
  }

  mark(channel: string, id: string): void {
    const ids = this.#marked.get(channel)
    if (ids === undefined) this.#marked.set(channel, new Set([id]))
    else ids.add(id)
  }

  /** Writes what is marked, with all that is marked in this turn of the event loop. Resolves also when that failed. */
  write(): Promise<void> {
    this.#next ??= this.#writing.then(() => new Promise((resolve) => setImmediate(resolve))).then(() => this.#round())
    return this.#next
  }

  /** Waits until nothing is being written. */
  async idle(): Promise<void> {
    await this.#writing
  }

  #round(): Promise<void> {
    this.#next = undefined
    const marked = [...this.#marked]
    this.#marked = new Map()
    let hasFailed = false
    const worker = async (): Promise<void> => {
      for (let each = marked.pop(); each !== undefined; each = marked.pop()) {
        const [channel, ids] = each
        // While Redis does not answer, the other channels are not tried one after another.
        if (hasFailed) this.#markAll(channel, ids)
        else
          await this.#writeChannel(channel, [...ids]).catch((error) => {
            this.#markAll(channel, ids)
            if (!hasFailed) this.#failed(error)
            hasFailed = true
          })
      }
    }
    this.#writing = Promise.all(Array.from({ length: Math.min(channelsAtOnce, marked.length) }, worker)).then(
      () => undefined,
    )
    return this.#writing
  }

  async #writeChannel(channel: string, ids: readonly string[]): Promise<void> {
    for (let i = 0; i < ids.length; i += membersPerCall) {
      const joining: [string, string][] = []
      const leaving: string[] = []
      for (const id of ids.slice(i, i + membersPerCall)) {
        const data = this.#local.dataOf(channel, id)
        if (data === undefined) leaving.push(id)
        else joining.push([id, data])
      }
      const calls: Promise<void>[] = []
      if (joining.length > 0) calls.push(this.#sink.join(channel, joining))
      if (leaving.length > 0) calls.push(this.#sink.leave(channel, leaving))
      await Promise.all(calls)
    }
    if (!this.#local.has(channel)) await this.#sink.forgetChannel(channel)
  }

  #markAll(channel: string, ids: Iterable<string>): void {
    for (const id of ids) this.mark(channel, id)
  }
}
