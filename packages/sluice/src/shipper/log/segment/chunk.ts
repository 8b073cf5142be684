import { recordHeaderBytes, sealFirst, sealRecord } from './record.ts'
import { eventId } from './segment-name.ts'

interface Waiter {
  readonly resolve: (id: string) => void
  readonly reject: (error: unknown) => void
}

/** Records to be written, already in the format of the disk, and the callers that wait for them. */
export class Chunk {
  readonly buffer: Buffer
  readonly firstSeq: number
  #used = 0
  readonly #waiters: Waiter[] = []

  constructor(buffer: Buffer, firstSeq: number) {
    this.buffer = buffer
    this.firstSeq = firstSeq
  }

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.#used)
  }

  get size(): number {
    return this.#used
  }

  /** The sequence number after the last record. */
  get nextSeq(): number {
    return this.firstSeq + this.#waiters.length
  }

  /** Whether so many bytes of payload fit. */
  fits(payloadBytes: number): boolean {
    return this.buffer.length - this.#used >= recordHeaderBytes + payloadBytes
  }

  /** Adds a record; the promise settles when the chunk does. */
  add(payload: string, timeMs: number, salt: number): Promise<string> {
    const at = this.#used
    const length = this.buffer.write(payload, at + recordHeaderBytes, 'utf8')
    this.#used = sealRecord(this.buffer, at, length, this.nextSeq, timeMs, salt)
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
    })
  }

  /** A commit begins with this chunk. */
  beginCommit(salt: number): void {
    sealFirst(this.buffer, 0, salt)
  }

  resolve(producer: string): void {
    for (const [i, waiter] of this.#waiters.entries()) waiter.resolve(eventId(producer, this.firstSeq + i))
  }

  reject(error: unknown): void {
    for (const waiter of this.#waiters) waiter.reject(error)
  }
}
