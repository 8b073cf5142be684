import type { Clock } from '../core/clock.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import { type FileSystem, quietly, removeTemporary } from './files/file-system.ts'
import type { ShipperEvents } from './flush/events.ts'
import { Reserve } from './log/reserve.ts'
import { keepDamaged } from './log/segment/damaged.ts'
import type { Damage } from './log/segment/segment-reader.ts'
import { SegmentLog } from './log/segment-log.ts'
import { OwnerLock } from './owner/owner-lock.ts'
import { type ProcessIdentity, uptimeMs } from './owner/process-identity.ts'
import { RejectedFile } from './rejected/rejected-file.ts'

export interface OwnedBufferOptions {
  readonly fs: FileSystem
  readonly dir: string
  readonly clock: Clock
  readonly emit: Emitter<ShipperEvents>['emit']
  readonly ownerTimeoutMs: number
  readonly identity: ProcessIdentity
}

/** What only the owner of a directory has. */
export interface Owned {
  readonly log: SegmentLog
  readonly rejected: RejectedFile
  readonly reserve: Reserve
}

/** Becomes and stays the owner of a directory, or finds that another process is. */
export class OwnedBuffer {
  readonly #options: OwnedBufferOptions
  readonly #lock: OwnerLock
  /** Damage and gaps are met again after a rewind, but reported once. */
  readonly #reported = new Set<string>()
  #owned: Owned | undefined

  constructor(options: OwnedBufferOptions) {
    this.#options = options
    const { fs, dir, clock, ownerTimeoutMs, identity } = options
    this.#lock = new OwnerLock({ fs, dir, clock, leaseMs: ownerTimeoutMs, identity, uptimeMs })
  }

  get present(): Owned | undefined {
    return this.#owned
  }

  /** What the owner has, if this process is or becomes the owner. */
  async acquire(): Promise<Owned | undefined> {
    const { fs, dir, emit } = this.#options
    if (this.#owned !== undefined && this.#lock.isHeld) return this.#owned
    await this.#drop()
    // Becoming the owner takes a little space, also on a full disk.
    const reserve = new Reserve(fs, dir)
    if (!(await reserve.use(() => this.#lock.acquire()))) return undefined
    const log = await SegmentLog.open(this.#logOptions(), this.#lock.epoch)
    this.#owned = { log, reserve, rejected: new RejectedFile(fs, dir, this.#lock.epoch) }
    await removeTemporary(fs, dir, this.#nowMs)
    await reserve.refill()
    emit('ownerChanged', { isOwner: true })
    return this.#owned
  }

  async release(): Promise<void> {
    await this.#drop()
    await this.#lock.release()
  }

  async #drop(): Promise<void> {
    const owned = this.#owned
    if (owned === undefined) return
    this.#owned = undefined
    await quietly(owned.log.close())
    await owned.rejected.close()
    this.#options.emit('ownerChanged', { isOwner: false })
  }

  #logOptions(): Parameters<typeof SegmentLog.open>[0] {
    const { fs, dir, emit, ownerTimeoutMs, identity } = this.#options
    return {
      fs,
      dir,
      identity,
      abandonedAfterMs: 4 * ownerTimeoutMs,
      nowMs: () => this.#nowMs,
      isOwner: () => this.#lock.isHeld,
      onProblem: (error, what) => emit('storageFailed', { what, error }),
      events: {
        lost: (producer, from, to) => {
          if (this.#isNew(`${producer}-${from}`)) emit('lost', { producer, from, events: to - from })
        },
        damage: (damage) => this.#keep(damage),
      },
    }
  }

  async #keep(damage: Damage): Promise<void> {
    const { fs, dir, emit } = this.#options
    const { segment, offset, bytes } = damage
    if (!this.#isNew(`${segment}@${offset}`)) return
    const savedAs = await keepDamaged(fs, dir, damage)
    emit('damaged', { segment, offset, bytes: bytes.length, ...(savedAs === undefined ? {} : { savedAs }) })
  }

  #isNew(what: string): boolean {
    if (this.#reported.has(what)) return false
    if (this.#reported.size > 10_000) this.#reported.clear()
    this.#reported.add(what)
    return true
  }

  get #nowMs(): number {
    return Math.floor(this.#options.clock.now() / 1000)
  }
}
