import type { Limit } from '../../../core/algorithms/limit.ts'
import { invalidOption } from '../../../core/errors.ts'
import type { Report } from '../../document/policy-error.ts'
import { limitsSpec } from '../../document/schema/schema.ts'
import { checkShape } from '../../document/schema/schema-issues.ts'
import { type LimitDefaults, readLimits } from '../limit-spec.ts'
import { withPace } from '../pace-spec.ts'

/**
 * Makes limits of what a document may say, and throws at the first mistake.
 *
 * @example compileLimits({ rps: 20, rpm: 1000 }, 'limits')
 */
export function compileLimits(spec: unknown, option: string, defaults: LimitDefaults = {}): readonly Limit[] {
  const report: Report = (path, value, message) => {
    throw invalidOption(path, value, message)
  }
  const checked = checkShape(limitsSpec, spec, option, report)!
  return typeof checked === 'string' ? [] : readLimits(checked, option, defaults, report, withPace)
}

/** The same for exactly one limit. */
export function compileLimit(spec: unknown, option: string, defaults: LimitDefaults = {}): Limit {
  const limits = compileLimits(spec, option, defaults)
  if (limits.length !== 1) throw invalidOption(option, spec, 'give exactly one limit')
  return limits[0]!
}
