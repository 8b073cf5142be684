import type { Charges } from '../decision/charges.ts'
import type { Decision } from '../decision/decision.ts'

/** Something that waits for its turn. */
export interface Waiter {
  /** What it is charged under the policy in force. */
  charges(): Charges
  /** Takes it, where more than spending is to be done. */
  readonly attempt: (() => Promise<Decision>) | undefined
  /** When it came and when it gives up, by the monotonic clock. */
  readonly sinceMs: number
  readonly untilMs: number
  /** It has its turn, or is refused. */
  end(decision: Decision): void
  fail(error: unknown): void
}

/** Units that a waiter needs, of its first rule. */
export function unitsOf(waiter: Waiter): number {
  return waiter.charges().enforced[0]?.cost ?? 0
}
