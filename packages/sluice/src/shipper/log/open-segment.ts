import { join } from 'node:path'
import { type FileSystem, type OpenFile, quietly } from '../files/file-system.ts'
import { writeAll } from '../files/write-all.ts'
import { encodeHeader, type SegmentHeader, segmentHeaderBytes } from './segment-header.ts'
import { openFileOf, sealedFileOf, segmentName } from './segment-name.ts'

/** The segment that a writer appends to. */
export class OpenSegment {
  readonly name: string
  readonly #fs: FileSystem
  readonly #dir: string
  readonly #file: OpenFile
  /** Up to where the file is whole: what stands behind it was not confirmed to anybody. */
  #size = segmentHeaderBytes

  private constructor(fs: FileSystem, dir: string, name: string, file: OpenFile) {
    this.#fs = fs
    this.#dir = dir
    this.name = name
    this.#file = file
  }

  static async create(fs: FileSystem, dir: string, header: SegmentHeader, durable: boolean): Promise<OpenSegment> {
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
    return new OpenSegment(fs, dir, name, file)
  }

  get size(): number {
    return this.#size
  }

  /**
   * Appends; durable when it resolves, if the segment was created so. After an error the file ends where it did before.
   */
  async append(chunks: readonly Uint8Array[]): Promise<void> {
    try {
      this.#size = await writeAll(this.#file, chunks, this.#size)
    } catch (error) {
      await quietly(this.#file.truncate(this.#size))
      throw error
    }
  }

  /** Must not be called again after it has failed: the kernel may have dropped the data and would report success. */
  sync(): Promise<void> {
    return this.#file.datasync()
  }

  /**
   * Whether the file still has its name. If not, another process took the segment over, and will not see what is
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
