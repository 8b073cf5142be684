import { join } from 'node:path'
import { type FileSystem, isNoSpace, type OpenFile, quietly, writeAll } from '../../files/file-system.ts'
import { recordHeaderBytes } from './record.ts'
import { encodeHeader, type SegmentHeader, segmentHeaderBytes } from './segment-header.ts'
import { openFileOf, sealedFileOf, segmentName } from './segment-name.ts'

/**
 * The segment that a writer appends to.
 *
 * While it grows, zeros are written ahead of the records:
 *
 *   | header | records ... | zeros ... |
 *                          ^ #size     ^ #allocated
 *
 * A durable write into space that is already allocated is about twice as fast, because the file system need not
 * allocate blocks and record the new length with each commit. A reader treats zeros as the end (see `lookAt`).
 */
export class OpenSegment {
  readonly name: string
  readonly #fs: FileSystem
  readonly #dir: string
  readonly #file: OpenFile
  readonly #ahead: WriteAhead
  /** Up to where the file is complete: nothing after it was confirmed. */
  #size = segmentHeaderBytes
  #allocated = segmentHeaderBytes

  private constructor(fs: FileSystem, dir: string, name: string, file: OpenFile, ahead: WriteAhead) {
    this.#fs = fs
    this.#dir = dir
    this.name = name
    this.#file = file
    this.#ahead = ahead
  }

  /** `segmentBytes` is its intended length; `durable` makes every append reach the disk. */
  static async create(
    fs: FileSystem,
    dir: string,
    header: SegmentHeader,
    segmentBytes: number,
    durable: boolean,
  ): Promise<OpenSegment> {
    const name = segmentName(header.createdMs, header.producer, header.number)
    const file = await fs.open(join(dir, openFileOf(name)), durable ? 'create-durable' : 'create')
    try {
      await writeAll(file, [encodeHeader(header)], 0)
      // Without this the file could be missing after a power cut, however often its contents were synced.
      await fs.syncDir(dir)
    } catch (error) {
      await quietly(file.close())
      await quietly(fs.remove(join(dir, openFileOf(name))))
      throw error
    }
    return new OpenSegment(fs, dir, name, file, durable ? writeAheadOf(segmentBytes) : none)
  }

  /** The most that a commit may add to the files besides its records: header, two marks and zeros. */
  static mostBesides(segmentBytes: number): number {
    return segmentHeaderBytes + 2 * recordHeaderBytes + writeAheadOf(segmentBytes).bytes
  }

  get size(): number {
    return this.#size
  }

  /** The length of the file. */
  get allocated(): number {
    return this.#allocated
  }

  /** Whether it has no records yet. */
  get isEmpty(): boolean {
    return this.#size === segmentHeaderBytes
  }

  /**
   * Appends; durable when it resolves, if the segment was created so. After an error the file ends where it did before.
   */
  async append(records: readonly Uint8Array[]): Promise<void> {
    const zeros = this.#zerosAfter(records)
    try {
      await this.#write(records, zeros)
    } catch (error) {
      // On a disk that is almost full the records may still fit without the zeros.
      if (!isNoSpace(error) || zeros.length === 0) throw error
      await this.#write(records, [])
    }
  }

  async #write(records: readonly Uint8Array[], zeros: readonly Uint8Array[]): Promise<void> {
    try {
      const end = await writeAll(this.#file, [...records, ...zeros], this.#size)
      this.#size = end - bytesOf(zeros)
      this.#allocated = Math.max(this.#allocated, end)
    } catch (error) {
      await quietly(this.#file.truncate(this.#size))
      this.#allocated = this.#size
      throw error
    }
  }

  #zerosAfter(records: readonly Uint8Array[]): readonly Uint8Array[] {
    const end = this.#size + bytesOf(records)
    const { fromBytes, bytes } = this.#ahead
    return end > this.#allocated && end >= fromBytes && bytes > 0 ? [zeros.subarray(0, bytes)] : []
  }

  /** Appends the mark that ends the segment, and cuts off what was allocated and not used. */
  async finish(mark: Uint8Array): Promise<void> {
    await this.#write([mark], [])
    if (this.#allocated > this.#size) await this.#file.truncate(this.#size)
  }

  /** Must not be called again after it has failed: the kernel may have dropped the data and would report success. */
  sync(): Promise<void> {
    return this.#file.datasync()
  }

  /**
   * Whether the file still has its name. If not, another process took the segment over, and will not read what is
   * appended now.
   */
  get isOurs(): boolean {
    return this.#fs.exists(join(this.#dir, openFileOf(this.name)))
  }

  /**
   * Closes the file and marks it as finished. Its name is durable once the directory is synced; either name is found
   * after a crash.
   */
  async seal(): Promise<void> {
    await quietly(this.#file.close())
    await quietly(this.#fs.rename(join(this.#dir, openFileOf(this.name)), join(this.#dir, sealedFileOf(this.name))))
  }
}

/** From which length of a file on zeros are written ahead, and how many. */
interface WriteAhead {
  readonly fromBytes: number
  readonly bytes: number
}

const none: WriteAhead = { fromBytes: 0, bytes: 0 }
const zeros = Buffer.alloc(1 << 20)

/** A process that stores few events writes no zeros; at most a sixteenth of a file is unused. */
function writeAheadOf(segmentBytes: number): WriteAhead {
  return { fromBytes: segmentBytes >> 8, bytes: Math.min(zeros.length, segmentBytes >> 4) }
}

function bytesOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0)
}
