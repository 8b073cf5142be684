import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Clock, Timer } from '../../core/clock.ts'
import { codeOf, createWhole, type FileSystem, isNoSpace, quietly, readWhole, writeAll } from '../files/file-system.ts'
import { livenessOf, type ProcessIdentity, startOf } from './process-identity.ts'

/** Which process has the lock. Written once, when the file is created. */
export interface LockHolder extends ProcessIdentity {
  readonly instance: string
}

/** When the lock was last renewed: by the wall clock, and since boot. Written again and again. */
export interface LockRenewal {
  readonly renewedMs: number
  readonly uptimeMs: number
  readonly released: boolean
}

export type LockRecord = LockHolder & LockRenewal

/**
 * The holder and its renewals each have a separate sector, always filled: a renewal that a power cut has torn leaves
 * the holder readable, and so a dead one is replaced at once.
 */
export const lockPartBytes = 512

function encodePart(part: LockHolder | LockRenewal): Buffer {
  return Buffer.from(`${JSON.stringify(part)}\n`.padEnd(lockPartBytes))
}

export interface LockTime {
  readonly nowMs: number
  readonly uptimeMs: number
  readonly leaseMs: number
}

/**
 * Reads a lock file. Undefined without a holder, which means that the file was truncated or edited. An unreadable
 * renewal counts as made when the file was last changed.
 */
export function parseLock(bytes: Buffer | undefined, modifiedMs: number): LockRecord | undefined {
  const holder = parsePart<LockHolder>(bytes?.subarray(0, lockPartBytes))
  if (holder === undefined || typeof holder.machine !== 'string') return undefined
  if (!areNumbers(holder.pid, holder.started)) return undefined
  const renewal = parsePart<LockRenewal>(bytes?.subarray(lockPartBytes))
  if (renewal !== undefined && areNumbers(renewal.renewedMs, renewal.uptimeMs)) return { ...holder, ...renewal }
  return { ...holder, renewedMs: modifiedMs, uptimeMs: Number.NaN, released: false }
}

const areNumbers = (...values: readonly unknown[]): boolean => values.every((value) => Number.isFinite(value))

function parsePart<Part>(bytes: Buffer | undefined): Part | undefined {
  try {
    const part: unknown = JSON.parse(bytes?.toString() ?? '')
    return typeof part === 'object' && part !== null ? (part as Part) : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether the owner is gone. On the same machine its process shows it: if it ended, or another process has its pid, the
 * lock is stale at once. A process that runs but does not renew (it is stopped, or hangs) loses the lock when it
 * expires. On other machines only expiry counts. Time since boot is compared where possible, because it does not jump.
 */
export function isStale(
  lock: LockRecord,
  self: ProcessIdentity,
  time: LockTime,
  start: typeof startOf = startOf,
): boolean {
  if (lock.released) return true
  if (livenessOf(lock, self, start) === 'dead') return true
  const sameMachine = lock.machine === self.machine && Number.isFinite(lock.uptimeMs)
  const ageMs = sameMachine ? time.uptimeMs - lock.uptimeMs : time.nowMs - lock.renewedMs
  // A renewal in the future means that a clock was set back: the expiry is unknown, so the lock counts as expired.
  return ageMs > time.leaseMs || ageMs < -time.leaseMs
}

export interface LockOptions {
  readonly fs: FileSystem
  readonly dir: string
  readonly identity: ProcessIdentity
  /** How long the lock lasts without being renewed. */
  readonly leaseMs: number
  readonly clock: Clock
  readonly uptimeMs: () => number
}

/** What a file system answers that has no hard links, or allows none. */
const withoutLinks = ['EPERM', 'EACCES', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']

const pattern = /^owner-(\d{12})$/
/** The name of the lock file of an epoch. */
export const ownerFileOf = (epoch: number): string => `owner-${String(epoch).padStart(12, '0')}`

/** The highest epoch in a directory, 0 if there was never an owner. */
export function highestEpoch(files: readonly string[]): number {
  return files.reduce((highest, file) => Math.max(highest, Number(pattern.exec(file)?.[1] ?? 0)), 0)
}

/**
 * One owner per directory: the process that ships and removes segments. The lock is the file `owner-<epoch>` with the
 * highest epoch. To take over from an owner that is gone is to create the file of the next epoch, which only one
 * process can do. A former owner that wakes up finds that file and stops; it never removes or overwrites anything of
 * its successor's.
 */
export class OwnerLock {
  readonly #options: LockOptions
  readonly #instance = randomBytes(8).toString('hex')
  #epoch: number | undefined
  #heartbeat: Timer | undefined

  constructor(options: LockOptions) {
    this.#options = options
  }

  get epoch(): number {
    return this.#epoch ?? 0
  }

  /** Whether this is the owner now. Checked before every checkpoint and every removal. */
  get isHeld(): boolean {
    const { fs, dir } = this.#options
    if (this.#epoch === undefined) return false
    const held = !fs.exists(join(dir, ownerFileOf(this.#epoch + 1))) && fs.exists(join(dir, ownerFileOf(this.#epoch)))
    if (!held) this.#epoch = undefined
    return held
  }

  /**
   * Becomes the owner if there is none, and stays it until `release`, or until another process takes over while this
   * one is stopped.
   */
  async acquire(): Promise<boolean> {
    const { fs, dir } = this.#options
    if (this.isHeld) return true
    const files = await fs.list(dir)
    const highest = highestEpoch(files)
    if (highest > 0 && !(await this.#isStale(highest))) return false
    if (!(await this.#create(highest + 1, highest))) return false
    this.#epoch = highest + 1
    const older = files.filter((file) => pattern.test(file))
    for (const file of older) await quietly(fs.remove(join(dir, file)))
    this.#renewLater()
    return this.isHeld
  }

  /** Lets others become the owner at once. The file stays, so that epochs only grow. */
  async release(): Promise<void> {
    this.#options.clock.clearTimeout(this.#heartbeat)
    if (this.isHeld) await quietly(this.#renew(true))
    this.#epoch = undefined
  }

  /** A request may last longer than the lock, so a separate timer renews it. */
  #renewLater(): void {
    const { clock, leaseMs } = this.#options
    this.#heartbeat = clock.setTimeout(() => {
      if (!this.isHeld) return
      // A renewal that fails (a full disk) lets the lock expire; the process that takes over raises the epoch, which
      // stops this process.
      void quietly(this.#renew(false)).then(() => this.isHeld && this.#renewLater())
    }, leaseMs / 3)
    this.#heartbeat.unref?.()
  }

  get #nowMs(): number {
    return Math.floor(this.#options.clock.now() / 1000)
  }

  async #isStale(epoch: number): Promise<boolean> {
    const { fs, dir, identity, leaseMs, uptimeMs } = this.#options
    const path = join(dir, ownerFileOf(epoch))
    const status = await fs.status(path)
    if (status === undefined) return true
    const lock = parseLock(await readWhole(fs, path), status.modifiedMs)
    if (lock !== undefined) return isStale(lock, identity, { nowMs: this.#nowMs, uptimeMs: uptimeMs(), leaseMs })
    // The holder is unknown, so only the age counts.
    return Math.abs(this.#nowMs - status.modifiedMs) > leaseMs
  }

  /** Creates the file of an epoch, with its contents in one step if possible; false if another process was faster. */
  async #create(epoch: number, former: number): Promise<boolean> {
    const { fs, dir } = this.#options
    const path = join(dir, ownerFileOf(epoch))
    const temporary = join(dir, `owner.${this.#instance}.tmp`)
    try {
      await createWhole(fs, temporary, this.#contents(false)).then(
        () => this.#link(temporary, path),
        async (error) => {
          if (!isNoSpace(error) || former === 0) throw error
          await this.#inherit(join(dir, ownerFileOf(former)), path)
        },
      )
      await fs.syncDir(dir)
      return true
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    } finally {
      await quietly(fs.remove(temporary))
    }
  }

  /**
   * On a file system without hard links the file is empty for a moment. Its holder is unknown then, so that others wait
   * until it expires.
   */
  async #link(temporary: string, path: string): Promise<void> {
    const { fs } = this.#options
    await fs.link(temporary, path).catch(async (error: unknown) => {
      if (!withoutLinks.includes(codeOf(error))) throw error
      await createWhole(fs, path, this.#contents(false))
    })
  }

  /** Without any space, the file of the former owner gets the new name too, and is overwritten in place. */
  async #inherit(former: string, path: string): Promise<void> {
    await this.#options.fs.link(former, path)
    await this.#write(path, false)
  }

  /**
   * Written in place, because that needs no space on a full disk, and fails if a successor has removed the file. It
   * need not be durable: after a power cut no process holds anything. A reader of a half-written renewal uses the
   * holder and the age of the file. The holder is written too, as two processes may have inherited the same file.
   */
  async #write(path: string, released: boolean): Promise<void> {
    const file = await this.#options.fs.open(path, 'update')
    try {
      await writeAll(file, [this.#contents(released)], 0)
    } finally {
      await quietly(file.close())
    }
  }

  #renew(released: boolean): Promise<void> {
    return this.#write(join(this.#options.dir, ownerFileOf(this.epoch)), released)
  }

  #contents(released: boolean): Buffer {
    const { machine, pid, started } = this.#options.identity
    return Buffer.concat([
      encodePart({ machine, pid, started, instance: this.#instance }),
      encodePart({ renewedMs: this.#nowMs, uptimeMs: this.#options.uptimeMs(), released }),
    ])
  }
}
