import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { Position } from '../protocol/messages.ts'
import type { StoredValue } from './cache-link.ts'

/** How many digits of time Redis puts before what was stored. */
export const timeDigits = 16

/** A stored copy: the time that Redis put before it, and the rest. Damage is detected when it is read. */
export class StoredCopyBytes implements StoredValue {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly id: number
  readonly ageMs: number

  /** The copy at this position of a reply. It is not copied: a separate buffer would cost more than reading it. */
  static next(reply: MsgpackReader, length: number, nowUs: number): StoredCopyBytes {
    const start = reply.pass(length)
    return new StoredCopyBytes(reply.source, start, start + length, nowUs)
  }

  static whole(bytes: Buffer, nowUs: number): StoredCopyBytes {
    return new StoredCopyBytes(bytes, 0, bytes.length, nowUs)
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
}

/** The beginning of a copy, which identifies it to Redis; empty for none. */
export function beginningOf(stored: StoredValue | null | undefined): string {
  return stored ? stored.bytes.toString('latin1', stored.start, Math.min(stored.start + timeDigits, stored.end)) : ''
}

/** The same for a copy of which only the time is known; 0 for none. */
export function timeText(id: number): string {
  return id === 0 ? '' : String(id).padStart(timeDigits, '0')
}

/** Puts a generation and sequence into a copy that was written without: `1 - 0 ...`. */
export function stampCopy(bytes: Buffer, { generation, sequence }: Position): Buffer {
  return Buffer.concat([bytes.subarray(0, 2), Buffer.from(`${generation} ${sequence}`), bytes.subarray(5)])
}
