import { invalidOption } from '../core/errors.ts'
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

/** Delivers the messages of a channel in order, those that were missed included. */
export class MessageFollower {
  readonly #listener: MessageListener
  readonly #readSince: (id: string) => Promise<readonly Published[]>
  #lastId: string | undefined
  /** What is published while missed messages are read. */
  #held: Published[] | undefined

  constructor(
    listener: MessageListener,
    after: string | undefined,
    readSince: (id: string) => Promise<readonly Published[]>,
  ) {
    this.#listener = listener
    this.#lastId = after
    this.#readSince = readSince
  }

  receive(text: string): void {
    const blank = text.indexOf(' ')
    const published = readMessage(text.slice(0, blank), text.slice(blank + 1))
    if (published === undefined) return
    if (this.#held === undefined) this.#deliver(published)
    else this.#held.push(published)
  }

  /** The subscription is there, perhaps again: what was published before may have been missed. */
  async ready(): Promise<void> {
    if (this.#lastId === undefined || this.#held !== undefined) return
    this.#held = []
    const missed = await this.#readSince(this.#lastId).catch(() => [])
    const held = this.#held
    this.#held = undefined
    for (const each of [...missed, ...held]) if (isAfter(each.id, this.#lastId)) this.#deliver(each)
  }

  #deliver({ id, event, message }: Published): void {
    this.#lastId = id
    this.#listener(message, { id, event })
  }
}

function isAfter(id: string, last: string): boolean {
  const [[ms = 0n, count = 0n], [lastMs = 0n, lastCount = 0n]] = [id, last].map((each) =>
    each.split('-').map(BigInt),
  ) as [bigint[], bigint[]]
  return ms === lastMs ? count > lastCount : ms > lastMs
}
