import { HttpException } from '@nestjs/common'
import type { Denial } from '../../admission/outcome.ts'
import type { Decision } from '../../limiter/decision/decision.ts'

/** What the guard throws for a denied request, so that exception filters see it. Its headers are already set. */
export class RateLimitException<Decided = Decision> extends HttpException {
  readonly decision: Decided
  readonly denial: Denial<Decided>

  constructor(denial: Denial<Decided>) {
    super({ ...denial.problem }, denial.status)
    this.decision = denial.decision
    this.denial = denial
  }
}
