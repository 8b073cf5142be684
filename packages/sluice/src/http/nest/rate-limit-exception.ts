import { HttpException } from '@nestjs/common'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Denial } from '../guard-options.ts'

/** What the guard throws for a denied request, so that exception filters see it. Its headers are already set. */
export class RateLimitException extends HttpException {
  readonly decision: Decision
  readonly denial: Denial

  constructor(denial: Denial) {
    super({ ...denial.problem }, denial.status)
    this.decision = denial.decision
    this.denial = denial
  }
}
