import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import type { Claim, PartitionState, Positions, SavedPosition } from './positions.ts'

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
