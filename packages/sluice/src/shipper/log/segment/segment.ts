import { join } from 'node:path'
import { type FileSystem, quietly } from '../../files/file-system.ts'
import { found, lookAt, markAt, recordHeaderBytes, saltOf, seqAt } from './record.ts'
import { decodeHeader, type SegmentHeader, segmentHeaderBytes } from './segment-header.ts'
import { openFileOf, type SegmentName, sealedFileOf } from './segment-name.ts'
import { type ReaderEvents, type ReaderStart, type ReadLimits, SegmentReader } from './segment-reader.ts'
import type { Position, StoredEvent } from './stored-event.ts'
import type { Windows } from './windows.ts'

/** What the header and the end of a segment show. */
export interface SegmentMeasure {
  readonly header: SegmentHeader | undefined
  readonly size: number
  /** The number after its last record, as far as it is known. */
  readonly nextSeq: number
}

const scanBytes = 1 << 20

/** The header alone; undefined when it is damaged. */
export async function readHeader(fs: FileSystem, path: string): Promise<SegmentHeader | undefined> {
  const file = await fs.open(path, 'read')
  try {
    const head = Buffer.alloc(segmentHeaderBytes)
    return decodeHeader(head.subarray(0, await file.read(head, 0)))
  } finally {
    await quietly(file.close())
  }
}

/** Reads header and footer of a segment; only one without a footer, which a crash left behind, is read completely. */
export async function measureSegment(fs: FileSystem, path: string, { producer }: SegmentName): Promise<SegmentMeasure> {
  const file = await fs.open(path, 'read')
  try {
    const size = await file.size()
    const head = Buffer.alloc(segmentHeaderBytes)
    const header = decodeHeader(head.subarray(0, await file.read(head, 0)))
    const foot = Buffer.alloc(recordHeaderBytes)
    const salt = saltOf(producer)
    const got = await file.read(foot, Math.max(segmentHeaderBytes, size - recordHeaderBytes))
    if (lookAt(foot, 0, got, salt) === found.mark && markAt(foot, 0) !== 'skip') {
      return { header, size, nextSeq: seqAt(foot, 0) }
    }
    let nextSeq = header?.firstSeq ?? 1
    let at = segmentHeaderBytes
    for (let window = scanBytes; at < size; ) {
      const bytes = Buffer.allocUnsafeSlow(Math.min(window, size - at))
      const length = await file.read(bytes, at)
      let here = 0
      let look: number
      for (look = lookAt(bytes, 0, length, salt); look >= 0; look = lookAt(bytes, here, length, salt)) {
        nextSeq = look === 0 ? seqAt(bytes, here) : seqAt(bytes, here) + 1
        here += recordHeaderBytes + look
      }
      at += here
      // The file may end earlier: its writer cuts off zeros when it ends the segment, perhaps since the size was read.
      const isEnd = length < bytes.length || at + length >= size
      if (look === found.bad || (here === 0 && isEnd)) break
      window = here === 0 ? window * 4 : scanBytes
    }
    return { header, size, nextSeq }
  } finally {
    await quietly(file.close())
  }
}

/** One segment as the owner sees it: what is in it, how far it was shipped, and how far it was read ahead. */
export class Segment {
  readonly info: SegmentName
  readonly firstSeq: number
  size: number
  nextSeq: number
  sealed: boolean
  shipped: Position
  /** When the last shipped event was stored, or the segment was begun: no pending event in it is older. */
  shippedMs: number
  #reader: SegmentReader | undefined

  constructor(info: SegmentName, measure: SegmentMeasure, sealed: boolean, shipped: Position | undefined) {
    this.info = info
    this.firstSeq = measure.header?.firstSeq ?? 1
    this.size = measure.size
    this.nextSeq = measure.nextSeq
    this.sealed = sealed
    this.shipped = shipped ?? { offset: 0, seq: this.firstSeq }
    this.shippedMs = info.createdMs
  }

  get pending(): number {
    return Math.max(0, this.nextSeq - this.shipped.seq)
  }

  /** Whether everything in it was shipped and nothing will be added. */
  get isDone(): boolean {
    return (
      this.sealed &&
      this.#reader?.finished === true &&
      this.#reader.lastEnd <= Math.max(this.shipped.offset, segmentHeaderBytes)
    )
  }

  /** The number that the producer's next segment should begin with. */
  get readSeq(): number | undefined {
    return this.#reader?.expected
  }

  async read(
    fs: FileSystem,
    dir: string,
    into: StoredEvent[],
    limits: ReadLimits,
    next: Pick<ReaderStart, 'expected' | 'confirmedSeq'>,
    events: ReaderEvents,
    windows: Windows,
  ): Promise<[number, boolean]> {
    const { name, producer } = this.info
    this.#reader ??= new SegmentReader(
      await openEither(fs, dir, name),
      { name, producer, offset: this.shipped.offset, ...next },
      events,
      windows,
    )
    if (this.#reader.finished) return [0, true]
    return this.#reader.read(into, limits, this.size, this.sealed)
  }

  /** Discards what was read ahead. */
  async rewind(): Promise<void> {
    await this.#reader?.close()
    this.#reader = undefined
  }
}

/** The writer may seal the segment at any moment, which changes its name. */
async function openEither(fs: FileSystem, dir: string, name: string): ReturnType<FileSystem['open']> {
  try {
    return await fs.open(join(dir, openFileOf(name)), 'read')
  } catch {
    return await fs.open(join(dir, sealedFileOf(name)), 'read')
  }
}
