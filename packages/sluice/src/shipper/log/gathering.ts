import { recordHeaderBytes, sealFirst, sealRecord } from './segment/record.ts'
import { eventId } from './segment/segment-name.ts'

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

const longestChunk = 1 << 20
const keptBuffers = 4
const longestCommit = 4 << 20

/** Gathers records while a commit is in flight. Buffers are reused, so that a steady stream allocates none. */
export class Gathering {
  readonly #free: Buffer[] = []
  readonly #chunkBytes: number
  /** The most that one commit writes, unless one event is longer. */
  readonly #commitBytes: number
  #chunks: Chunk[] = []
  #bytes = 0
  #nextSeq = 1

  constructor(maxCommitBytes: number) {
    this.#commitBytes = Math.min(longestCommit, maxCommitBytes)
    this.#chunkBytes = Math.min(longestChunk, maxCommitBytes)
  }

  /** How many bytes are pending. */
  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  add(payload: string, timeMs: number, salt: number): Promise<string> {
    // No character takes more than three bytes; only when that might not fit are they counted.
    let chunk = this.#chunks.at(-1)
    if (chunk === undefined || !chunk.fits(payload.length * 3)) {
      const payloadBytes = Buffer.byteLength(payload)
      if (chunk === undefined || !chunk.fits(payloadBytes)) {
        chunk = new Chunk(this.#buffer(payloadBytes), this.#nextSeq)
        this.#chunks.push(chunk)
      }
    }
    const before = chunk.size
    const added = chunk.add(payload, timeMs, salt)
    this.#bytes += chunk.size - before
    this.#nextSeq = chunk.nextSeq
    return added
  }

  /** Takes what one commit should write, oldest first. */
  take(): Chunk[] {
    let count = 0
    let bytes = 0
    for (const chunk of this.#chunks) {
      if (count > 0 && bytes + chunk.size > this.#commitBytes) break
      bytes += chunk.size
      count++
    }
    this.#bytes -= bytes
    return this.#chunks.splice(0, count)
  }

  /** Takes back the buffers of settled chunks. */
  recycle(chunks: readonly Chunk[]): void {
    for (const { buffer } of chunks) {
      if (buffer.length === this.#chunkBytes && this.#free.length < keptBuffers) this.#free.push(buffer)
    }
  }

  #buffer(payloadBytes: number): Buffer {
    if (payloadBytes + 64 > this.#chunkBytes) return Buffer.allocUnsafeSlow(payloadBytes + 64)
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#chunkBytes)
  }
}
