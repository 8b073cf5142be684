import type { MsgpackReader } from '../../redis/msgpack.ts'

/** How many digits of time Redis puts before what was stored: twice, as scripts of Redis have no checksum. */
const timeDigits = 16
export const timeLength: number = 2 * timeDigits

/** A stored copy: the time that Redis put before it, and the rest. Damage is detected when it is read. */
export class StoredValue {
  readonly kind = 'stored'
  /** From `start` to `end`: twice 16 digits of the time it was stored at, then the copy. */
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** When it was stored, by the clock of Redis; identifies this copy of the key. */
  readonly id: number
  readonly ageMs: number
  /** Whether its time can be read. */
  readonly isDated: boolean

  /** The copy at this position of a reply. It is not copied: a separate buffer would cost more than reading it. */
  static next(reply: MsgpackReader, length: number, nowUs: number): StoredValue {
    const start = reply.pass(length)
    return new StoredValue(reply.source, start, start + length, nowUs)
  }

  static whole(bytes: Buffer, nowUs: number): StoredValue {
    return new StoredValue(bytes, 0, bytes.length, nowUs)
  }

  private constructor(bytes: Buffer, start: number, end: number, nowUs: number) {
    this.bytes = bytes
    this.start = start
    this.end = end
    // Read digit by digit: this runs for every read from Redis, and a string would only be garbage.
    let us = 0
    let isDated = end - start >= timeLength
    for (let i = start; i < start + timeDigits && i < end; i++) {
      const digit = bytes[i]! - 48
      if (digit < 0 || digit > 9 || bytes[i + timeDigits] !== bytes[i]) isDated = false
      us = us * 10 + digit
    }
    this.isDated = isDated
    this.id = us
    this.ageMs = us > 0 && us < nowUs ? (nowUs - us) / 1000 : 0
  }

  /** What identifies this copy to Redis: bytes, as those of another writer are no text. */
  get beginning(): Buffer {
    return this.bytes.subarray(this.start, Math.min(this.start + timeDigits, this.end))
  }
}

/** The beginning of no copy. */
export const noBeginning: Buffer = Buffer.alloc(0)

/** The beginning of a copy of which only the time is known; 0 for none. */
export function beginningAt(id: number): Buffer {
  return id === 0 ? noBeginning : Buffer.from(timeText(id))
}

/** What Redis puts before a copy. */
export function datedAt(id: number): string {
  return timeText(id).repeat(2)
}

const timeText = (id: number): string => String(id).padStart(timeDigits, '0')
