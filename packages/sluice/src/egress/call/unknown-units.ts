import { didYouMean } from '../../core/did-you-mean.ts'
import { warn } from '../../core/observe/warn-once.ts'
import type { UpstreamLimit } from '../../policy/upstream/upstream.ts'
import type { Cost } from './units.ts'

/** As many are remembered for one upstream, should units be made of what requests say. */
const maxWarned = 20

/**
 * Warns once of each unit in a cost that no limit of the upstream counts: what was mistyped would count as one unit. It
 * is not refused, as a limit may have been taken out of a policy that changes while it is used.
 */
export function warnOfUnits(upstream: string): (cost: Cost | undefined, limits: readonly UpstreamLimit[]) => void {
  const warned = new Set<string>()
  return (cost, limits) => {
    if (typeof cost !== 'object' || cost === null) return
    for (const unit in cost) {
      if (unit === 'requests' || warned.size >= maxWarned || warned.has(unit)) continue
      if (limits.some((limit) => limit.unit === unit)) continue
      warned.add(unit)
      const counted = [...new Set(limits.map((limit) => limit.unit))]
      const known = `${didYouMean(unit, counted)}its limits count ${counted.join(', ')}`
      warn(
        'SLUICE_UNKNOWN_UNIT',
        `A cost for the upstream ${upstream} is in ${JSON.stringify(unit)}, which it does not limit; ${known}.`,
      )
    }
  }
}
