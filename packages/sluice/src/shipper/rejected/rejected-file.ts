import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type FileSystem, isNoSpace, type OpenFile, quietly, writeAll } from '../files/file-system.ts'
import { eventId } from '../log/segment/segment-name.ts'
import { payloadOf, type StoredEvent } from '../log/segment/stored-event.ts'

const pattern = /^rejected-(\d{12})(?:-[0-9a-z]+)?\.ndjson$/

/** The files of a directory with events that the server refused permanently, oldest first. */
export function rejectedFiles(files: readonly string[]): string[] {
  return files.filter((file) => pattern.test(file)).sort()
}

/** The file to which the owner of an epoch appends; with a number when earlier names cannot be used. */
function rejectedFileOf(epoch: number, number: number): string {
  return `rejected-${String(epoch).padStart(12, '0')}${number === 0 ? '' : `-${number}`}.ndjson`
}

/** A name under which no process appends to a file. */
export function takenFileOf(file: string): string {
  return `rejected-${pattern.exec(file)?.[1]}-t${randomBytes(6).toString('hex')}.ndjson`
}

/**
 * Events that the server refused permanently, one JSON object per line in `rejected-<epoch>.ndjson`. A shipper only
 * appends to it. To take events out, rename the file first (see `takeRejected`).
 */
export class RejectedFile {
  readonly #fs: FileSystem
  readonly #dir: string
  readonly #epoch: number
  #file: OpenFile | undefined
  #path = ''
  #size = 0
  /** Names that cannot be used. */
  #taken = 0

  constructor(fs: FileSystem, dir: string, epoch: number) {
    this.#fs = fs
    this.#dir = dir
    this.#epoch = epoch
  }

  /** Durable when it resolves: only then may the event leave the buffer. */
  async add(rejections: readonly Rejection[], nowMs: number): Promise<void> {
    const lines = rejections.map(({ event, reason }) => {
      const head = { id: eventId(event.producer, event.seq), storedAt: event.timeMs, rejectedAt: nowMs, reason }
      return `${JSON.stringify(head).slice(0, -1)},"data":${payloadOf(event).toString()}}\n`
    })
    const bytes = Buffer.from(lines.join(''))
    do await this.#append(bytes)
    while (
      // Renamed meanwhile: the process that renamed it may have read it before this was added.
      !(await this.#isOurs())
    )
  }

  async close(): Promise<void> {
    if (this.#file !== undefined) await quietly(this.#file.close())
  }

  async #append(bytes: Buffer): Promise<void> {
    this.#file ??= await this.#open()
    const file = this.#file
    try {
      const end = await writeAll(file, [bytes], this.#size)
      await file.datasync()
      this.#size = end
    } catch (error) {
      await quietly(file.truncate(this.#size))
      // After a failed sync the system may report data as written that is not: nothing more is added to that file.
      if (!isNoSpace(error)) await this.#abandon()
      throw error
    }
  }

  async #isOurs(): Promise<boolean> {
    if (this.#fs.exists(this.#path)) return true
    await this.#abandon()
    return false
  }

  async #abandon(): Promise<void> {
    await this.close()
    this.#file = undefined
    this.#taken++
  }

  /** A new file. Epochs begin again if the lock file is removed, so a name may exist already. */
  async #open(): Promise<OpenFile> {
    this.#path = join(this.#dir, rejectedFileOf(this.#epoch, this.#taken))
    if (this.#fs.exists(this.#path)) {
      this.#taken++
      return this.#open()
    }
    const file = await this.#fs.open(this.#path, 'create')
    try {
      await this.#fs.syncDir(this.#dir)
    } catch (error) {
      await quietly(file.close())
      await quietly(this.#fs.remove(this.#path))
      throw error
    }
    this.#size = 0
    return file
  }
}

/** An event that is set aside, and why. */
export interface Rejection {
  readonly event: StoredEvent
  readonly reason: string
}
