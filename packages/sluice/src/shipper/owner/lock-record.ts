import { livenessOf, type ProcessIdentity, startOf } from './process-identity.ts'

/** What stands in the lock file. */
export interface LockRecord extends ProcessIdentity {
  readonly instance: string
  /** When it was last renewed: by the wall clock, and since boot. */
  readonly renewedMs: number
  readonly uptimeMs: number
  readonly released: boolean
}

export interface LockTime {
  readonly nowMs: number
  readonly uptimeMs: number
  readonly leaseMs: number
}

/** Undefined for what is no lock record: a cut file, or one that somebody edited. */
export function parseLock(bytes: Buffer | undefined): LockRecord | undefined {
  try {
    const lock = JSON.parse(bytes?.toString() ?? '') as LockRecord
    const numbers = [lock.pid, lock.started, lock.renewedMs, lock.uptimeMs]
    const isWhole = numbers.every((number) => Number.isFinite(number)) && typeof lock.machine === 'string'
    return isWhole ? lock : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether the owner is gone. On the same machine its process tells: if it ended, or another process has its pid, the
 * lock is stale at once. A process that runs but does not renew (it is stopped, or hangs) loses the lock when it
 * expires. Elsewhere only expiry counts. Time since boot is compared where it can be, because it does not jump.
 */
export function isStale(
  lock: LockRecord,
  self: ProcessIdentity,
  time: LockTime,
  start: typeof startOf = startOf,
): boolean {
  if (lock.released) return true
  if (livenessOf(lock, self, start) === 'dead') return true
  const sameMachine = lock.machine === self.machine
  const ageMs = sameMachine ? time.uptimeMs - lock.uptimeMs : time.nowMs - lock.renewedMs
  // A renewal in the future means that a clock was set back: it cannot be told when the lock expires, so it has.
  return ageMs > time.leaseMs || ageMs < -time.leaseMs
}
