import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { FileSystem } from '../files/file-system.ts'
import { leastDiskBytes, reserveBytes, reserveFile } from './reserve.ts'
import { segmentHeaderBytes } from './segment/segment-header.ts'
import { parseSegmentName } from './segment/segment-name.ts'

export type OnFull = 'wait' | 'refuse' | 'drop-oldest'

export interface RoomOptions {
  readonly fs: FileSystem
  readonly dir: string
  readonly clock: Clock
  readonly maxBytes: number
  readonly minFreeBytes: number
  readonly onFull: OnFull
  /** Removes the oldest segment; false if there is none that may be removed. */
  readonly dropOldest: () => Promise<boolean>
  /** Called once when the buffer becomes full, and once when it has room again. */
  readonly onChange: (isFull: boolean) => void
}

const retryMs = 100
/** How long a measurement of the disk is valid. */
const measureMs = 1000

/**
 * Decides whether more may be written: by the bytes of all segments, by what is free on the disk, and by errors of the
 * disk itself.
 */
export class Room {
  readonly #options: RoomOptions
  #usedBytes = 0
  #freeBytes = Number.POSITIVE_INFINITY
  #measuredMs = Number.NEGATIVE_INFINITY
  #isFull = false
  #closed = false

  constructor(options: RoomOptions) {
    this.#options = options
  }

  get isFull(): boolean {
    return this.#isFull
  }

  /** Bytes that may still be written; Infinity without a limit. */
  get leftBytes(): number {
    const { maxBytes, minFreeBytes } = this.#options
    const left = Math.min(maxBytes - this.#usedBytes, minFreeBytes > 0 ? this.#freeBytes - minFreeBytes : Infinity)
    return Math.max(0, left)
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  written(bytes: number): void {
    this.#become(false)
    this.#usedBytes += bytes
    this.#freeBytes -= bytes
  }

  /** The owner has counted the bytes of all records. What else is in the files is measured before the next commit. */
  known(usedBytes: number): void {
    this.#usedBytes = usedBytes
    this.#measuredMs = Number.NEGATIVE_INFINITY
  }

  /** Ends all waiting. */
  close(): void {
    this.#closed = true
  }

  /**
   * Whether these bytes may be written now. Waits or drops first, as `onFull` requires. Before that it calls
   * `endSegment`: only a finished segment is removed once it is shipped, and the open one may take up all the space.
   */
  async make(bytes: number, noSpace: boolean, endSegment: () => Promise<void>): Promise<boolean> {
    const { maxBytes, minFreeBytes, onFull, clock, dropOldest } = this.#options
    const isLimited = maxBytes !== Infinity || minFreeBytes > 0 || !this.#hasReserve
    if (!noSpace && !this.#isFull && !isLimited) return true
    for (let refused = noSpace; ; refused = false) {
      await this.#measure(refused)
      if (!refused && this.leftBytes >= bytes && (await this.#leavesReserve(bytes))) return true
      this.#become(true)
      await endSegment()
      if (this.#closed || onFull === 'refuse') return false
      if (onFull === 'drop-oldest') {
        if (!(await dropOldest())) return false
        this.#measuredMs = Number.NEGATIVE_INFINITY
      } else {
        await sleep(retryMs, clock)
        this.#measuredMs = Number.NEGATIVE_INFINITY
      }
    }
  }

  get #hasReserve(): boolean {
    return this.#options.fs.exists(join(this.#options.dir, reserveFile))
  }

  /**
   * The space of a reserve that was released is not for events: without it the owner could not record what it ships.
   * Whether the disk has space for the events only a write can show.
   */
  async #leavesReserve(bytes: number): Promise<boolean> {
    const { fs, dir, onFull } = this.#options
    if (onFull === 'drop-oldest' || this.#hasReserve) return true
    const space = await fs.space(dir).catch(() => undefined)
    if (space === undefined || space.totalBytes < leastDiskBytes) return true
    return space.freeBytes >= bytes + reserveBytes || (await isEmpty(fs, dir))
  }

  #become(isFull: boolean): void {
    if (this.#isFull === isFull) return
    this.#isFull = isFull
    this.#options.onChange(isFull)
  }

  async #measure(isNeeded: boolean): Promise<void> {
    const { fs, dir, clock, maxBytes, minFreeBytes } = this.#options
    if (!isNeeded && clock.monotonic() - this.#measuredMs < measureMs) return
    this.#measuredMs = clock.monotonic()
    if (maxBytes !== Infinity) this.#usedBytes = await bytesOnDisk(fs, dir)
    if (minFreeBytes > 0) this.#freeBytes = (await fs.space(dir)).freeBytes
  }
}

/** Whether no segment of a directory has a record, so that nothing is left to ship. */
async function isEmpty(fs: FileSystem, dir: string): Promise<boolean> {
  for (const file of await fs.list(dir)) {
    if (parseSegmentName(file) === undefined) continue
    if (((await fs.status(join(dir, file)))?.size ?? 0) > segmentHeaderBytes) return false
  }
  return true
}

/** The bytes of all segments in a directory. */
export async function bytesOnDisk(fs: FileSystem, dir: string): Promise<number> {
  let bytes = 0
  for (const file of await fs.list(dir)) {
    if (parseSegmentName(file) !== undefined) bytes += (await fs.status(join(dir, file)))?.size ?? 0
  }
  return bytes
}
