import type { Clock } from '../../core/clock.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { KafkaMessage } from './kafka-client.ts'

/** How often a partition without news says so. */
const silentMs = 1000

/** Messages of one partition between the client, which gives them, and the pipeline, which takes them. */
export class KafkaPartition {
  readonly place: { readonly topic: string; readonly partition: number }
  readonly #clock: Clock
  #messages: readonly KafkaMessage[] = []
  #isHeld = false
  #sinceMs: number
  #isWaiting = false
  #arrived = new AbortController()
  #taken = new AbortController()
  /** Up to where everything is committed, as far as this worker knows. */
  begin: string | undefined
  /** The offset to fetch next, when it is known. */
  next: string | undefined
  isPaused = false

  constructor(topic: string, partition: number, clock: Clock) {
    this.place = { topic, partition }
    this.#clock = clock
    this.#sinceMs = clock.monotonic()
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0
  }

  /** For how long a reader has been waiting for messages. */
  get waitedMs(): number {
    return this.#isWaiting ? this.#clock.monotonic() - this.#sinceMs : 0
  }

  /** Forgets what was not taken; reading goes on at this offset. */
  moveTo(offset: string): void {
    this.#messages = []
    this.next = offset
    this.#taken.abort()
  }

  /** True when all messages were taken within the time. */
  async give(messages: readonly KafkaMessage[], withinMs: number): Promise<boolean> {
    this.begin ??= messages[0]!.offset
    this.next = String(BigInt(messages.at(-1)!.offset) + 1n)
    this.#messages = messages
    this.#taken = new AbortController()
    this.#arrived.abort()
    await sleep(withinMs, this.#clock, this.#taken.signal).catch(() => undefined)
    return this.isEmpty
  }

  /** At most so many messages; none when none came for a while. */
  async take(most: number, signal: AbortSignal): Promise<readonly KafkaMessage[]> {
    if (this.isEmpty || this.#isHeld) {
      this.#arrived = new AbortController()
      if (!this.#isWaiting) this.#sinceMs = this.#clock.monotonic()
      this.#isWaiting = true
      const either = AbortSignal.any([signal, this.#arrived.signal])
      await sleep(silentMs, this.#clock, either).catch(() => signal.throwIfAborted())
    }
    if (this.isEmpty || this.#isHeld) return []
    this.#isWaiting = false
    const page = this.#messages.slice(0, most)
    this.#messages = this.#messages.slice(most)
    if (this.isEmpty) this.#taken.abort()
    return page
  }

  /** Hands out nothing more: the partition may have another owner soon. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.#arrived.abort()
  }
}
