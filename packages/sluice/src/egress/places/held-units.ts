import type { BookedLimit, Units } from '../booking/messages.ts'
import type { AnsweredGroup } from './answered-places.ts'
import type { Grant } from './grant.ts'

/** What a process holds of each limit: places of answered calls whose period is not over, and calls in flight. */
export function heldUnits(
  limits: readonly BookedLimit[],
  groups: readonly AnsweredGroup[],
  grants: Iterable<Grant>,
): Units {
  const held: Record<string, number> = {}
  for (const { limit, units } of groups) held[limit] = (held[limit] ?? 0) + units
  for (const { units, isAnswered } of grants) {
    for (const { key, periodMs } of limits) {
      if (!isAnswered || periodMs === 0) held[key] = (held[key] ?? 0) + (units[key] ?? 0)
    }
  }
  return held
}

const leastRecoveryMs = 2000

/**
 * For how long nothing is granted after state was lost: the shortest period, and long enough for every process to
 * register.
 */
export function recoveryMs(limits: readonly BookedLimit[]): number {
  const periods = limits.map(({ periodMs }) => periodMs).filter((ms) => ms > 0)
  return periods.length === 0 ? leastRecoveryMs : Math.max(leastRecoveryMs, Math.min(...periods))
}
