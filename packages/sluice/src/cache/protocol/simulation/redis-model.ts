import type { Bumped, Invalidation } from '../messages.ts'
import type { Copy, World } from './world.ts'

/** What the scripts of the cache do to values and locks; each function is one step of Redis. */

interface Announced {
  readonly message: Bumped
  readonly version: number
}

export interface SetStep extends Announced {
  readonly id: number
}

export type Announce = (message: Invalidation) => number

let tokens = 0
/** Replaces the lock of a producer that has to begin again. */
const endedSet = -1

/** How long before a request the mutant reads the clock of Redis. */
const tooEarlyMs = 300

/**
 * What a reader takes for the time of its read. Redis reads its clock by a command before the one that reads the
 * copies, and other processes may write in between.
 */
function readClock({ random, nowMs, mutation }: World, sentMs: number): number {
  const earliestMs = mutation.datesReadsTooEarly ? sentMs - tooEarlyMs : sentMs
  return earliestMs + random.next() * (nowMs - earliestMs)
}

/** Reads the copies of several keys, for a request that was sent at `sentMs`. */
export function readCopies(
  world: World,
  keys: readonly string[],
  sentMs: number,
): { copies: (Copy | undefined)[]; server: number; ranMs: number } {
  const copies = keys.map((key) => world.values.get(key))
  return { copies, server: world.log.runId, ranMs: readClock(world, sentMs) }
}

/** Reads a copy for a request that was sent at `sentMs`, or takes its fill lock. */
export function readOrLock(
  world: World,
  key: string,
  sentMs: number,
): { copy?: Copy; token?: number; server: number; ranMs: number } {
  const { values, locks, random } = world
  const ranMs = readClock(world, sentMs)
  const server = world.log.runId
  const copy = values.get(key)
  // A copy that the reader considers invalidated is locked as if it were missing; here at random.
  if (copy !== undefined && !random.chance(0.2)) return { copy, server, ranMs }
  // An expired lock is replaced. That of a producer outlives the deadlines of all its steps.
  if (locks.has(key) && (world.setting.has(locks.get(key)!) || !random.chance(0.3))) return { server, ranMs }
  tokens += 1
  locks.set(key, tokens)
  return { token: tokens, server, ranMs }
}

/** Stores what was fetched under a lock; returns 0 when the lock was lost. */
export function storeFetched(world: World, key: string, copy: Copy, token: number): number {
  if (!world.mutation.ignoresLocks && world.locks.get(key) !== token) return 0
  world.locks.delete(key)
  return world.store(key, copy)
}

/**
 * Removes a key that is being invalidated, and ends the lock of its fetch. The lock of a producer is not released.
 */
export function takeKey(world: World, key: string): void {
  const { values, locks, setting, mutation } = world
  values.delete(key)
  if (setting.has(locks.get(key)!) && !mutation.freesLocksOfSets) locks.set(key, endedSet)
  else locks.delete(key)
}

/** A producer records its invalidation in the log. */
export function bumpForSet(world: World, key: string, announce: Announce): Announced {
  const message = world.log.bump([`k:${key}`], world.nowMs)
  return { message, version: announce(message) }
}

/** On one node, a producer invalidates and stores in one script. */
export function setAtOnce(world: World, key: string, announce: Announce): SetStep {
  const bumped = bumpForSet(world, key, announce)
  if (!world.mutation.setsBesideLocks) world.locks.delete(key)
  return { ...bumped, id: world.store(key, copyOf(bumped)) }
}

/** On a cluster, a producer first takes the lock of the key: any other change of the key from now on ends it. */
export function beginSet(world: World, key: string): { token: number; server: number } {
  tokens += 1
  world.values.delete(key)
  world.setting.add(tokens).add(endedSet)
  if (!world.mutation.setsBesideLocks) world.locks.set(key, tokens)
  return { token: tokens, server: world.log.runId }
}

/**
 * The last step: stores if it still has the lock; returns 0 when it was lost. A copy that was stored before the bump
 * is then removed: the log need not remember the bump for as long as that copy exists.
 */
export function endSet(world: World, key: string, bumped: Announced, token: number): number {
  const { mutation, values, locks } = world
  const { generation, sequence } = bumped.message
  if (mutation.setsWithoutLock) {
    const copy = values.get(key)
    if (copy?.generation === generation && copy.sequence > sequence) return 0
  } else if (!mutation.setsBesideLocks && locks.get(key) !== token) {
    const copy = values.get(key)
    if (copy && !(copy.generation === generation && copy.sequence >= sequence)) values.delete(key)
    if (locks.get(key) === endedSet) locks.delete(key)
    return 0
  }
  if (!mutation.setsBesideLocks) locks.delete(key)
  return world.store(key, copyOf(bumped))
}

function copyOf({ message: { generation, sequence }, version }: Announced): Copy {
  return { version, generation, sequence, id: 0, madeAtMs: 0 }
}
