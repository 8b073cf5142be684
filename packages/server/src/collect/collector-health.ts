import type { Capacity } from 'sluice/capacity'
import { HealthQuestion, type PartHealth, systemClock, withinTime } from 'sluice/internal'

/** How the parts of a collector are: whether it takes batches now, and whether Redis can tell which it has had. */
export function collectorHealth(
  capacity: Pick<Capacity, 'stats'>,
  redis: { ping(): Promise<unknown> } | undefined,
): { health(): Promise<PartHealth> } {
  const clock = systemClock()
  const late = (): Error => new Error('no answer in time')
  const reachable = new HealthQuestion(async (ms) => {
    if (redis === undefined) return true
    return withinTime(redis.ping(), { ms, clock, late }).then(
      () => true,
      () => false,
    )
  }, clock)
  return {
    async health() {
      const { ready, load } = capacity.stats()
      const reasons = [
        ...(ready
          ? []
          : [`The load of ${Math.round(load.percent)} % is above every row of the table (${load.cause}).`]),
        ...((await reachable.answer()) ? [] : ['Redis, which remembers the ids of events, does not answer.']),
      ]
      return { ready: reasons.length === 0, reasons, warnings: [] }
    },
  }
}
