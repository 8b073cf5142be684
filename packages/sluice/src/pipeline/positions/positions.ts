import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../runtime/system-clock.ts'

/** A partition, as one worker owns it. */
export interface Claim {
  readonly pipeline: string
  readonly partition: string
  /** Grows with each owner. Whoever has a lower one is refused. */
  readonly epoch: number
  /** Where to read on; undefined at the beginning. */
  readonly next: string | undefined
  /** Whether the partition was read to its end. */
  readonly done: boolean
  /** The identity of the source that the position belongs to. */
  readonly source: string | undefined
}

/** How a partition stands, whoever owns it. */
export interface PartitionState extends Claim {
  /** The worker that owns it now. */
  readonly owner: string | undefined
}

interface SavedPosition {
  readonly next: string | undefined
  readonly done: boolean
  readonly source: string | undefined
}

/** Where positions are kept, and who owns which partition. */
export interface Positions {
  list(pipeline: string): Promise<readonly PartitionState[]>
  /** Takes a partition that nobody owns, or whose owner did not extend its claim in time. */
  claim(pipeline: string, partition: string, worker: string, leaseMs: number): Promise<Claim | undefined>
  /** False: another has taken the partition over. */
  extend(claim: Claim, leaseMs: number): Promise<boolean>
  /** Saves a position, unless another has taken the partition over; then false. */
  save(claim: Claim, position: SavedPosition): Promise<boolean>
  /** Gives the partition back, so that another need not wait. */
  release(claim: Claim): Promise<void>
}

/**
 * Thrown by a sink that saves positions itself when another worker has taken the partition over: this one stops working
 * on it.
 */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

interface Entry extends PartitionState {
  readonly untilMs: number
}

/** Positions of the pipelines of one process, forgotten with it. */
export function memoryPositions(clock: Clock = systemClock()): Positions {
  const entries = new Map<string, Entry>()
  const keyOf = (pipeline: string, partition: string): string => JSON.stringify([pipeline, partition])
  /** Changes the entry of a claim; false when it has a newer owner. */
  const change = ({ pipeline, partition, epoch }: Claim, changes: Partial<Entry>): boolean => {
    const key = keyOf(pipeline, partition)
    const entry = entries.get(key)
    if (entry === undefined || entry.epoch !== epoch) return false
    entries.set(key, { ...entry, ...changes })
    return true
  }
  return {
    async list(pipeline) {
      const now = clock.monotonic()
      return [...entries.values()]
        .filter((entry) => entry.pipeline === pipeline)
        .map((entry) => (entry.untilMs > now ? entry : { ...entry, owner: undefined }))
    },
    async claim(pipeline, partition, worker, leaseMs) {
      const key = keyOf(pipeline, partition)
      const entry = entries.get(key)
      const now = clock.monotonic()
      if (entry?.owner !== undefined && entry.untilMs > now) return undefined
      const { epoch = 0, next, done = false, source } = entry ?? {}
      const claimed = { pipeline, partition, epoch: epoch + 1, next, done, source }
      entries.set(key, { ...claimed, owner: worker, untilMs: now + leaseMs })
      return claimed
    },
    async extend(claim, leaseMs) {
      return change(claim, { untilMs: clock.monotonic() + leaseMs })
    },
    async save(claim, position: SavedPosition) {
      return change(claim, position)
    },
    async release(claim) {
      change(claim, { owner: undefined })
    },
  }
}
