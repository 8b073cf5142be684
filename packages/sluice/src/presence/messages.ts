import { backoffMs } from '../core/backoff.ts'
import type { Clock } from '../core/clock.ts'
import { invalidOption, isSluiceError } from '../core/errors.ts'
import { callListener } from '../core/observe/emitter.ts'
import { backgroundClock } from '../runtime/background-clock.ts'
import { sleep } from '../runtime/sleep.ts'
import type { MessageListener } from './presence.ts'

/** A message with what is sent along. */
export interface Published {
  /** Grows with every message of a channel. */
  readonly id: string
  readonly event: string | undefined
  readonly message: unknown
}

const idPattern = /^\d{1,19}-\d{1,19}$/

/** Whether a text can be the id of a message; clients send what they like. */
export function isMessageId(text: unknown): text is string {
  return typeof text === 'string' && idPattern.test(text)
}

/** Writes a message: JSON of its event and itself. */
export function writeMessage(message: unknown, event: string | undefined): string {
  if (event !== undefined && (typeof event !== 'string' || event === '' || /[\r\n]/.test(event)))
    throw invalidOption('publish.event', event, 'use a name of one line, such as "price"')
  const text = JSON.stringify(message)
  if (text === undefined)
    throw invalidOption('publish message', message, 'use what JSON can write: a text, a number, a plain object')
  return `[${JSON.stringify(event ?? null)},${text}]`
}

/** Reads a message. Any client may publish to a channel, so anything else is undefined. */
export function readMessage(id: string, text: string): Published | undefined {
  try {
    const [event, message] = JSON.parse(text) as [unknown, unknown]
    return isMessageId(id) ? { id, event: typeof event === 'string' ? event : undefined, message } : undefined
  } catch {
    return undefined
  }
}

/** For how long it is tried to read what was missed: the connection for commands may come back after this one. */
const catchUpMs = 5000
const retries = { baseMs: 25, maxMs: 500 } as const

/** Reads what was published after a message, or in the last milliseconds. */
type ReadSince = (since: string | number) => Promise<readonly Published[]>

/** Delivers the messages of a channel in order, those that were missed included. */
export class MessageFollower {
  readonly #listener: MessageListener
  readonly #readSince: ReadSince
  readonly #clock: Clock
  #lastId: string | undefined
  /** When the subscription was there for the first time. */
  #beganMs: number | undefined
  #timesReady = 0
  #isLost = false
  #isReading = false
  /** What is received before the missed messages have been read. */
  #held: Published[] | undefined
  /** What was read as missed and may still be received. */
  #caughtUp: Set<string> = new Set()

  constructor(listener: MessageListener, after: string | undefined, readSince: ReadSince, clock: Clock) {
    this.#listener = listener
    this.#lastId = after
    this.#readSince = readSince
    this.#clock = backgroundClock(clock)
    if (after !== undefined) this.#held = []
  }

  receive(text: string): void {
    const blank = text.indexOf(' ')
    const published = readMessage(text.slice(0, blank), text.slice(blank + 1))
    if (published === undefined) return
    if (this.#held === undefined) this.#take(published)
    else this.#held.push(published)
  }

  /** The connection was lost. What comes over the next one waits for what was missed. */
  lost(): void {
    this.#isLost = true
    if (this.#beganMs !== undefined) this.#held ??= []
  }

  /** The subscription is there, perhaps again: what was published before may have been missed. */
  async ready(): Promise<void> {
    this.#timesReady += 1
    this.#isLost = false
    this.#beganMs ??= this.#clock.monotonic()
    if (this.#held === undefined || this.#isReading) return
    this.#isReading = true
    let missed: readonly Published[] = []
    // What it has when the subscription was interrupted again meanwhile may lack the last messages.
    for (let seen = 0; seen !== this.#timesReady; ) {
      seen = this.#timesReady
      missed = await this.#readMissed()
    }
    const [held, last] = [this.#held, this.#lastId]
    this.#held = this.#isLost ? [] : undefined
    this.#isReading = false
    const caughtUp = missed.filter(({ id }) => last === undefined || isAfter(id, last))
    for (const each of caughtUp) this.#deliver(each)
    this.#caughtUp = new Set(caughtUp.map(({ id }) => id))
    for (const each of held) this.#take(each)
  }

  async #readMissed(): Promise<readonly Published[]> {
    const endMs = this.#clock.monotonic() + catchUpMs
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#readSince(this.#lastId ?? this.#clock.monotonic() - this.#beganMs!)
      } catch (error) {
        const isOver = this.#clock.monotonic() >= endMs || (isSluiceError(error) && !error.transient)
        if (isOver) return []
        await sleep(backoffMs(attempt, Math.random, retries), this.#clock)
      }
    }
  }

  #take(published: Published): void {
    if (!this.#caughtUp.delete(published.id)) this.#deliver(published)
  }

  #deliver(published: Published): void {
    this.#lastId = published.id
    callListener(({ id, event, message }) => this.#listener(message, { id, event }), published)
  }
}

function isAfter(id: string, last: string): boolean {
  const [[ms = 0n, count = 0n], [lastMs = 0n, lastCount = 0n]] = [id, last].map((each) =>
    each.split('-').map(BigInt),
  ) as [bigint[], bigint[]]
  return ms === lastMs ? count > lastCount : ms > lastMs
}
