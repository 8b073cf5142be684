import type { Clock } from '../core/clock.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { UsedPolicy } from '../policy/live/live-policy.ts'
import type { CallbackStore, FallbackStore } from '../stores/callback-store.ts'
import type { Recounts } from '../stores/recount/recount.ts'
import type { FailingSource } from '../stores/recount/recounting.ts'
import type { WaitLine } from '../stores/store.ts'
import type { Charger } from './charger.ts'
import type { Decider } from './decision/decider.ts'
import type { LimiterEvents } from './events.ts'
import type { LossCheck } from './loss-check.ts'

/** What a limiter is made of. */
export interface LimiterParts {
  readonly policy: UsedPolicy
  readonly store: CallbackStore
  readonly fallback: FallbackStore
  readonly recounts: Recounts
  readonly failingSources: () => readonly FailingSource[]
  readonly events: Emitter<LimiterEvents>
  readonly deadlineMs: number
  /** Whether the store is in this process. */
  readonly inProcess: boolean
  readonly line: WaitLine | undefined
  readonly losses: LossCheck | undefined
  readonly maxWaiting: number
  readonly clock: Clock
}

/** The same with what all calls of a limiter go through. */
export interface CallParts extends LimiterParts {
  readonly charger: Charger
  readonly decider: Decider
}
