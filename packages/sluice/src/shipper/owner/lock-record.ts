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

export function encodePart(part: LockHolder | LockRenewal): Buffer {
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
