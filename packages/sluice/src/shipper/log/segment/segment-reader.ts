import { type OpenFile, quietly } from '../../files/file-system.ts'
import { findValid, found, hasFirst, lookAt, markAt, recordHeaderBytes, saltOf, seqAt, timeAt } from './record.ts'
import { decodeHeader, segmentHeaderBytes } from './segment-header.ts'
import type { StoredEvent } from './stored-event.ts'
import { Windows, windowBytes } from './windows.ts'

/** Bytes of a segment that are not records. A tail was cut by a crash, or never written; damage is anything else. */
export interface Damage {
  readonly segment: string
  readonly kind: 'damaged' | 'tail'
  readonly offset: number
  readonly bytes: Buffer
}

export interface ReaderEvents {
  /** The numbers from `from` up to, but not including, `to` of this producer are missing. */
  lost(producer: string, from: number, to: number): void
  /** May keep the bytes; the segment is not removed before it resolves. */
  damage(damage: Damage): void | Promise<void>
}

export interface ReaderStart {
  readonly name: string
  readonly producer: string
  readonly offset: number
  /** The number that should come next; undefined if it is not known. */
  readonly expected: number | undefined
  /** The number up to which later segments show that events were confirmed. */
  readonly confirmedSeq: () => number
}

export interface ReadLimits {
  readonly events: number
  readonly bytes: number
}

/** What an event costs in a batch besides its data: its id and the JSON around it. */
export const framingBytes = 64

const noBytes = Buffer.alloc(0)

/**
 * Reads the records of one segment in order. Skips what is damaged, and counts what is missing by the sequence numbers.
 */
export class SegmentReader {
  readonly #file: OpenFile
  readonly #start: ReaderStart
  readonly #salt: number
  readonly #events: ReaderEvents
  readonly #windows: Windows
  #window: Buffer = noBytes
  #windowAt = 0
  #offset: number
  #expected: number | undefined
  #lastEnd: number
  #finished = false
  #closed = false

  constructor(file: OpenFile, start: ReaderStart, events: ReaderEvents, windows: Windows = new Windows()) {
    this.#file = file
    this.#start = start
    this.#salt = saltOf(start.producer)
    this.#events = events
    this.#windows = windows
    this.#offset = start.offset
    this.#lastEnd = start.offset
    this.#expected = start.expected
  }

  /** Whether the end of a sealed segment was reached. */
  get finished(): boolean {
    return this.#finished
  }

  /** Where the last event that was returned ends. */
  get lastEnd(): number {
    return this.#lastEnd
  }

  get expected(): number | undefined {
    return this.#expected
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#moveTo(noBytes, 0)
    await quietly(this.#file.close())
  }

  /**
   * Adds events until there are so many, they have so many bytes, or the segment (up to `end`) has no more. Returns the
   * bytes that were added, and whether the segment has no more. The first event is added however long it is.
   */
  async read(into: StoredEvent[], limits: ReadLimits, end: number, sealed: boolean): Promise<[number, boolean]> {
    let bytes = 0
    if (this.#offset === 0) await this.#readHeader(end)
    while (into.length < limits.events) {
      if (this.#offset >= end) {
        this.#finished = sealed
        // A batch may span hundreds of small segments, which must not all stay open.
        if (sealed) await this.close()
        return [bytes, true]
      }
      const at = this.#offset - this.#windowAt
      const look = lookAt(this.#window, at, this.#window.length, this.#salt)
      if (look > 0) {
        const isJump = this.#expected !== undefined && seqAt(this.#window, at) > this.#expected
        if (isJump && (await this.#passMisplaced(end, recordHeaderBytes + look))) continue
        const event = this.#event(at, look)
        if (event === undefined) continue
        if (into.length > 0 && bytes + look + framingBytes > limits.bytes) {
          this.#offset = event.end - look - recordHeaderBytes
          this.#expected = event.seq
          return [bytes, false]
        }
        into.push(event)
        bytes += look + framingBytes
        this.#lastEnd = event.end
      } else if (look === found.mark) this.#passMark(at)
      else if (look === found.bad || !(await this.#fill(end))) await this.#passDamage(end, sealed)
    }
    return [bytes, false]
  }

  #event(at: number, length: number): StoredEvent | undefined {
    const seq = seqAt(this.#window, at)
    this.#offset += recordHeaderBytes + length
    // A commit that failed was written again to the next segment: skip records that were already read.
    if (this.#expected !== undefined && seq < this.#expected) return undefined
    this.#miss(seq)
    this.#expected = seq + 1
    const { name: segment, producer } = this.#start
    const [bytes, from] = [this.#window, at + recordHeaderBytes]
    return { segment, producer, seq, timeMs: timeAt(bytes, at), end: this.#offset, bytes, from, to: from + length }
  }

  #passMark(at: number): void {
    const next = seqAt(this.#window, at)
    this.#miss(markAt(this.#window, at) === 'skip' ? timeAt(this.#window, at) : next)
    this.#expected = Math.max(this.#expected ?? 0, next)
    this.#offset += recordHeaderBytes
  }

  #miss(seq: number): void {
    if (this.#expected !== undefined && seq > this.#expected) {
      this.#events.lost(this.#start.producer, this.#expected, seq)
    }
  }

  async #readHeader(end: number): Promise<void> {
    await this.#fill(end)
    const header = decodeHeader(this.#window)
    this.#offset = segmentHeaderBytes
    this.#lastEnd = segmentHeaderBytes
    if (header === undefined || header.producer !== this.#start.producer) return
    this.#miss(header.firstSeq)
    // A first number below what is expected repeats records, which are skipped one by one.
    this.#expected ??= header.firstSeq
    this.#expected = Math.max(this.#expected, header.firstSeq)
  }

  /** Moves the window to the current offset; false if that shows nothing new. */
  async #fill(end: number): Promise<boolean> {
    const left = end - this.#offset
    const seen = this.#windowAt + this.#window.length - this.#offset
    // The window began here and was too short for one long record: make it longer.
    const wanted = Math.min(left, seen > 0 && this.#windowAt === this.#offset ? seen * 4 : windowBytes)
    if (wanted <= seen) return false
    const next = this.#windows.take(wanted)
    const got = await this.#file.read(next, this.#offset)
    if (got <= Math.max(0, seen)) {
      this.#windows.retire(next)
      return false
    }
    this.#moveTo(next.subarray(0, got), this.#offset)
    return true
  }

  #moveTo(window: Buffer, at: number): void {
    this.#windows.retire(this.#window)
    this.#window = window
    this.#windowAt = at
  }

  /**
   * Whether the record here, whose number is too high, is not where it belongs, as after a write that went astray:
   * lower numbers follow it. It is damage then; to go on from its number would hide them.
   */
  async #passMisplaced(end: number, length: number): Promise<boolean> {
    const rest = await this.#rest(end)
    const next = findValid(rest, length, rest.length, this.#salt, this.#expected ?? 1)
    if (next === undefined || seqAt(rest, next) > seqAt(rest, 0)) return false
    await this.#damaged('damaged', rest.subarray(0, next))
    this.#continueAt(rest, next)
    return true
  }

  /**
   * Continues with the next valid record. Everything up to it is reported as damage, or as a torn tail if there is
   * none. Missing numbers are lost only if they were confirmed: a power cut may leave any part of the last commit.
   */
  async #passDamage(end: number, sealed: boolean): Promise<void> {
    const rest = await this.#rest(end)
    const next = findValid(rest, 1, rest.length, this.#salt, this.#expected ?? 1)
    await this.#damaged(next === undefined ? 'tail' : 'damaged', rest.subarray(0, next))
    if (next !== undefined && sealed && !hasFirst(rest, next, rest.length, this.#salt)) {
      // The numbers up to here were confirmed; those after it were never confirmed to a caller.
      const seq = seqAt(rest, next)
      const confirmed = Math.min(seq, this.#start.confirmedSeq())
      this.#miss(confirmed)
      this.#expected = seq
    }
    if (next !== undefined) return this.#continueAt(rest, next)
    this.#offset = end
    this.#moveTo(noBytes, end)
  }

  /** What is left of the segment. */
  async #rest(end: number): Promise<Buffer> {
    const rest = Buffer.alloc(Math.max(0, end - this.#offset))
    return rest.subarray(0, await this.#file.read(rest, this.#offset))
  }

  #continueAt(rest: Buffer, at: number): void {
    this.#offset += at
    this.#moveTo(rest.subarray(at), this.#offset)
  }

  /** Zeros are space that was never used. */
  async #damaged(kind: Damage['kind'], bytes: Buffer): Promise<void> {
    if (bytes.every((byte) => byte === 0)) return
    await this.#events.damage({ segment: this.#start.name, kind, offset: this.#offset, bytes })
  }
}
