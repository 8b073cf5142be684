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
