import { didYouMean } from '../../core/did-you-mean.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { warn } from '../../core/observe/warn-once.ts'
import type { UpstreamLimit } from '../../policy/upstream/upstream.ts'
import type { Units } from '../booking/messages.ts'

export type Cost = number | Readonly<Record<string, number>>

/**
 * What a call occupies of each unit besides requests, of which it is one: what its cost specifies. A missing cost
 * counts as one unit, so that nothing is free by mistake.
 */
export function unitsOf(limits: readonly UpstreamLimit[], cost: Cost | undefined): Units {
  const units: Record<string, number> = {}
  for (const { unit } of limits) if (unit !== 'requests') units[unit] = costIn(cost, unit) ?? 1
  return units
}

/** The units that a response's usage corrects; undefined when it reports none. */
export function actualUnitsOf(limits: readonly UpstreamLimit[], usage: Cost | undefined): Units | undefined {
  if (usage === undefined) return undefined
  const units: Record<string, number> = {}
  for (const { unit } of limits) {
    const amount = unit === 'requests' ? undefined : costIn(usage, unit)
    if (amount !== undefined) units[unit] = amount
  }
  return units
}

function costIn(cost: Cost | undefined, unit: string): number | undefined {
  const amount = typeof cost === 'object' ? cost[unit] : cost
  if (amount === undefined) return undefined
  if (!Number.isFinite(amount) || amount < 0)
    throw new SluiceError('SLUICE_INVALID_COST', `a cost of ${show(amount)} ${unit} cannot be`)
  return Math.ceil(amount)
}

/** Each of the units, but no less than another amount of it. */
export function raiseUnits(units: Units, least: Units): Units {
  return Object.fromEntries(Object.entries(units).map(([unit, amount]) => [unit, Math.max(amount, least[unit] ?? 0)]))
}

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
