import type { LimitSet } from '../../core/engine/limit-set.ts'
import { warnOnce } from '../../core/observe/warn-once.ts'
import type { LimitsSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'

/** How many different limits are remembered. */
const maxSets = 1000

/** A lookup may say any text, also one that only begins like limits. */
function limitsIn(
  text: string,
  read: (limits: LimitsSpec, report: Report) => LimitSet | undefined,
  report: Report,
): LimitSet | undefined {
  let limits: LimitsSpec
  try {
    limits = JSON.parse(text) as LimitsSpec
  } catch {
    report('limits', text, 'what it said is not JSON')
    return undefined
  }
  return read(limits, report)
}

/**
 * Makes the function that reads limits which a lookup said, as text. What makes no sense in the rule is as if nothing
 * had been said, with one warning.
 */
export function readLimitsText(
  otherwise: LimitSet,
  rule: string,
  read: (limits: LimitsSpec, report: Report) => LimitSet | undefined,
): (text: string) => LimitSet {
  const known = new Map<string, LimitSet>()
  const warn = warnOnce('SLUICE_LOOKUP_FAILED')
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    let mistake: string | undefined
    const made = limitsIn(text, read, (path, _, message) => {
      mistake ??= `${path}: ${message}`
    })
    if (mistake !== undefined)
      warn(`A lookup said limits that the rule ${rule} cannot have, so that its default holds: ${mistake}`)
    const set = mistake === undefined && made ? made : otherwise
    if (known.size >= maxSets) known.clear()
    known.set(text, set)
    return set
  }
}
