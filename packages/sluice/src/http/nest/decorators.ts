import { type CustomDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common'
import { checkOptionNames } from '../../core/check-options.ts'
import { type ChargeOptions, chargeOptionNames } from '../guard/guard-options.ts'

/** Where the decorators leave their options. */
export const metadataKey = 'sluice:rate-limit'

/**
 * Charges a handler, or all handlers of a controller, to a rule or key of its own.
 *
 * @example
 * \@Controller()
 * class Reports {
 *   \@RateLimit({ rule: 'reports', cost: 5 })
 *   \@Post('reports')
 *   create() {}
 * }
 */
export function RateLimit(charge: ChargeOptions<ExecutionContext>): CustomDecorator {
  checkOptionNames('RateLimit', charge, chargeOptionNames)
  return SetMetadata(metadataKey, charge)
}

/** Lets a handler, or all handlers of a controller, be called without a decision. */
export function SkipRateLimit(): CustomDecorator {
  return SetMetadata(metadataKey, false)
}
