import { join } from 'node:path'
import { createWhole, type FileSystem, isNoSpace, quietly } from '../files/file-system.ts'

export const reserveBytes: number = 256 * 1024
export const reserveFile: string = 'reserve'
/** A smaller disk has no reserve. */
export const leastDiskBytes: number = 4 * reserveBytes

/**
 * A file that reserves space, so that a full disk can still be drained: even to record that events were shipped, and
 * then to remove them, some file systems need space. It is removed when there is none, and created again when there is.
 */
export class Reserve {
  readonly #fs: FileSystem
  readonly #path: string
  readonly #dir: string

  constructor(fs: FileSystem, dir: string) {
    this.#fs = fs
    this.#dir = dir
    this.#path = join(dir, reserveFile)
  }

  /** Runs a step; if the disk is full, releases the reserve and runs it again. */
  async use<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step()
    } catch (error) {
      if (!isNoSpace(error) || !this.#fs.exists(this.#path)) throw error
      await quietly(this.#fs.remove(this.#path))
      return await step()
    }
  }

  /** Creates the reserve if it is missing and there is plenty of space. */
  async refill(): Promise<void> {
    if (this.#fs.exists(this.#path)) return
    try {
      const { freeBytes } = await this.#fs.space(this.#dir)
      // Not zeros: some file systems store zeros without allocating space.
      if (freeBytes > leastDiskBytes) await createWhole(this.#fs, this.#path, Buffer.alloc(reserveBytes, 0xa5))
    } catch {
      await quietly(this.#fs.remove(this.#path))
    }
  }
}
