import type { SetReply } from './cache-link.ts'

/** With larger calls, Redis would answer nobody else for too long. */
const maxItems = 64
const maxBytes = 256 * 1024

/** What a producer wrote. */
export interface SetItem {
  readonly encoded: string
  /** Without a generation. */
  readonly copy: string | Buffer
  /** How long it is kept (ms); 0 for no expiry. */
  readonly keepMs: string
  readonly withinMs: number
}

interface Waiting extends SetItem {
  resolve(reply: SetReply): void
  reject(error: unknown): void
}

/** Sends what producers write, one call after another. What was asked for during a call is sent together. */
export class SetQueue {
  readonly #send: (items: readonly SetItem[]) => Promise<SetReply>
  #waiting: Waiting[] = []
  #isSending = false

  constructor(send: (items: readonly SetItem[]) => Promise<SetReply>) {
    this.#send = send
  }

  /** Resolves with the message of all keys that were set by the same call. */
  set(item: SetItem): Promise<SetReply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...item, resolve, reject })
      if (this.#isSending) return
      this.#isSending = true
      // After all others that are asked for in this step: to encode thousands of values takes longer than a deadline.
      queueMicrotask(() => void this.#sendAll())
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const items = this.#next()
      await this.#send(items).then(
        (reply) => {
          for (const { resolve } of items) resolve(reply)
        },
        (error) => {
          for (const { reject } of items) reject(error)
        },
      )
    }
    this.#isSending = false
  }

  #next(): readonly Waiting[] {
    let bytes = 0
    const end = this.#waiting.findIndex(({ copy }, index) => {
      bytes += copy.length
      return index >= maxItems || (index > 0 && bytes > maxBytes)
    })
    const items = end < 0 ? this.#waiting : this.#waiting.slice(0, end)
    this.#waiting = end < 0 ? [] : this.#waiting.slice(end)
    return items
  }
}
