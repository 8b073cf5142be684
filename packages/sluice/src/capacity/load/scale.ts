/** A reading and the load that it corresponds to. */
export type Point = readonly [reading: number, load: number]

/** Loads between the points lie on straight lines; beyond the last one the load is that of the last. */
export function scale(reading: number, points: readonly Point[]): number {
  if (!(reading > 0)) return 0
  let [fromReading, fromLoad]: Point = [0, 0]
  for (const [toReading, toLoad] of points) {
    if (reading <= toReading) {
      return fromLoad + ((reading - fromReading) / (toReading - fromReading)) * (toLoad - fromLoad)
    }
    fromReading = toReading
    fromLoad = toLoad
  }
  return fromLoad
}

/** Delays of the event loop and times in a queue, in milliseconds: 20 is half loaded, at 200 requests time out. */
export const delayPoints: readonly Point[] = [
  [20, 50],
  [70, 80],
  [200, 100],
]

/** The heap in use, as a share of its limit: above 0.95 most time goes into garbage collection. */
export const heapPoints: readonly Point[] = [
  [0.7, 50],
  [0.85, 80],
  [0.95, 100],
]

/** Busy is not overloaded: utilisation alone never reaches the load at which requests are shed. */
export const utilisationPoints: readonly Point[] = [[1, 79]]

/** Requests in flight, as a share of the most that the service is meant to have. */
export const inFlightPoints: readonly Point[] = [
  [0.8, 60],
  [1, 95],
  [1.2, 100],
]

/** How fast a smoothed load follows a higher and a lower reading. */
const upMs = 1000
const downMs = 10_000

/**
 * The smoothed load after a reading: up fast, down slowly, so that not all shippers return at once after a short pause.
 */
export function smooth(before: number, reading: number, elapsedMs: number): number {
  const constantMs = reading > before ? upMs : downMs
  return before + (reading - before) * (1 - Math.exp(-Math.max(0, elapsedMs) / constantMs))
}
