import type { MsgpackReader } from '../../redis/msgpack.ts'

/** How many digits of time Redis puts before what was stored. */
export const timeDigits = 16

/** A stored copy: the time that Redis put before it, and the rest. Damage is detected when it is read. */
export class StoredValue {
  readonly kind = 'stored'
  /** From `start` to `end`: 16 digits of the time it was stored at, then the copy. */
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** When it was stored, by the clock of Redis; identifies this copy of the key. */
  readonly id: number
  readonly ageMs: number

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
    for (let i = start; i < start + timeDigits && i < end; i++) us = us * 10 + (bytes[i]! - 48)
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
  return id === 0 ? noBeginning : Buffer.from(String(id).padStart(timeDigits, '0'))
}
