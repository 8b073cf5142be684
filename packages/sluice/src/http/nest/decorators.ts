import { type CustomDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common'
import type { ChargeOptions } from '../guard-options.ts'

/** Where the decorators leave their options. */
export const metadataKey = 'sluice:rate-limit'

/**
 * Charges a handler, or all handlers of a controller, to a rule or key of its own.
 *
 * @example
 * \@RateLimit({ rule: 'reports', cost: 5 })
 * \@Post('reports')
 * create() {}
 */
export function RateLimit(charge: ChargeOptions<ExecutionContext>): CustomDecorator {
  return SetMetadata(metadataKey, charge)
}

/** Lets a handler, or all handlers of a controller, be called without a decision. */
export function SkipRateLimit(): CustomDecorator {
  return SetMetadata(metadataKey, false)
}
