import { join } from 'node:path'
import { type FileSystem, isNoSpace, type OpenFile, quietly } from '../files/file-system.ts'
import { writeAll } from '../files/write-all.ts'
import { eventId } from '../log/segment-name.ts'
import type { Rejection } from './deliver.ts'

const pattern = /^rejected-\d{12}(-\d+)?\.ndjson$/

/** The files of a directory with events that the server refused for good, oldest first. */
export function rejectedFiles(files: readonly string[]): string[] {
  return files.filter((file) => pattern.test(file)).sort()
}

/**
 * Events that the server refused for good, one JSON object per line in `rejected-<epoch>.ndjson`. A shipper never
 * deletes anything there.
 */
export class RejectedFile {
  readonly #fs: FileSystem
  readonly #dir: string
  readonly #epoch: number
  /** Names that cannot be used. */
  #taken = 0
  #file: OpenFile | undefined
  #size = 0

  constructor(fs: FileSystem, dir: string, epoch: number) {
    this.#fs = fs
    this.#dir = dir
    this.#epoch = epoch
  }

  /** Durable when it resolves: only then may the event leave the buffer. */
  async add(rejections: readonly Rejection[], nowMs: number): Promise<void> {
    const lines = rejections.map(({ event, reason }) => {
      const head = { id: eventId(event.producer, event.seq), storedAt: event.timeMs, rejectedAt: nowMs, reason }
      return `${JSON.stringify(head).slice(0, -1)},"data":${event.payload.toString()}}\n`
    })
    this.#file ??= await this.#open()
    const file = this.#file
    try {
      const end = await writeAll(file, [Buffer.from(lines.join(''))], this.#size)
      await file.datasync()
      this.#size = end
    } catch (error) {
      await quietly(file.truncate(this.#size))
      // After a failed sync the system may take for written what is not: nothing more is added to that file.
      if (!isNoSpace(error)) await this.#abandon()
      throw error
    }
  }

  async close(): Promise<void> {
    if (this.#file !== undefined) await quietly(this.#file.close())
  }

  async #abandon(): Promise<void> {
    await this.close()
    this.#file = undefined
    this.#taken++
  }

  /** A new file. Epochs begin again if somebody removes the lock file, so a name may be taken. */
  async #open(): Promise<OpenFile> {
    const suffix = this.#taken === 0 ? '' : `-${this.#taken}`
    const path = join(this.#dir, `rejected-${String(this.#epoch).padStart(12, '0')}${suffix}.ndjson`)
    if (this.#fs.exists(path)) {
      this.#taken++
      return this.#open()
    }
    const file = await this.#fs.open(path, 'create')
    try {
      await this.#fs.syncDir(this.#dir)
    } catch (error) {
      await quietly(file.close())
      await quietly(this.#fs.remove(path))
      throw error
    }
    this.#size = 0
    return file
  }
}
