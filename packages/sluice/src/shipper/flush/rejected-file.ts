import { join } from 'node:path'
import { codeOf, type FileSystem, type OpenFile, quietly } from '../files/file-system.ts'
import { writeAll } from '../files/write-all.ts'
import { eventId } from '../log/segment-name.ts'
import type { Rejection } from './deliver.ts'

/**
 * Events that the server refused for good, one JSON object per line in `rejected-<epoch>.ndjson`. Nothing is ever
 * deleted there.
 */
export class RejectedFile {
  readonly #fs: FileSystem
  readonly #dir: string
  readonly #name: string
  #file: OpenFile | undefined
  #size = 0

  constructor(fs: FileSystem, dir: string, epoch: number) {
    this.#fs = fs
    this.#dir = dir
    this.#name = `rejected-${String(epoch).padStart(12, '0')}.ndjson`
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
      throw error
    }
  }

  async close(): Promise<void> {
    if (this.#file !== undefined) await quietly(this.#file.close())
  }

  async #open(): Promise<OpenFile> {
    const path = join(this.#dir, this.#name)
    try {
      const file = await this.#fs.open(path, 'create')
      await this.#fs.syncDir(this.#dir)
      return file
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const file = await this.#fs.open(path, 'update')
    this.#size = await file.size()
    return file
  }
}
