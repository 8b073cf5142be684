import type { Answer, Charge } from '../../core/engine/ask.ts'

/**
 * For how long at least `units` of the first charge have to be waited for, with as much of the others, by what a store
 * answered: 0 when there is room, Infinity when there never is for one cost. Under a limit that slides, they may all be
 * there only later.
 */
export function estimateWaitMs(charges: readonly Charge[], { statuses }: Answer, units: number): number {
  let waitMs = 0
  for (const [c, charge] of charges.entries()) {
    const needed = charges[0]!.cost === 0 ? 0 : (units / charges[0]!.cost) * charge.cost
    for (const [l, status] of (statuses[c] ?? []).entries()) {
      if (status.block) {
        waitMs = Math.max(waitMs, status.resetMs)
        continue
      }
      const { algorithm, amount, burst, intervalUs } = charge.limits.limits[l]!
      const missing = needed - status.remaining
      if (missing <= 0) continue
      if (charge.cost > burst) return Infinity
      if (algorithm === 'gcra') waitMs = Math.max(waitMs, (missing * intervalUs) / 1000)
      else if (algorithm === 'concurrency' || algorithm === 'pace') waitMs = Math.max(waitMs, status.retryAfterMs)
      else {
        const isWindow = algorithm === 'fixed-window' || algorithm === 'calendar'
        const laterMs = Math.floor((missing - 1) / amount) * status.windowMs
        waitMs = Math.max(waitMs, (isWindow ? status.resetMs : status.retryAfterMs) + laterMs)
      }
    }
  }
  return waitMs
}

/** How many units of the first charge there is room for, with as much of the others. */
export function roomOf(charges: readonly Charge[], { statuses }: Answer): number {
  let times = Infinity
  for (const [c, { cost }] of charges.entries()) {
    if (cost > 0) for (const { remaining } of statuses[c] ?? []) times = Math.min(times, Math.floor(remaining / cost))
  }
  return times * charges[0]!.cost
}
