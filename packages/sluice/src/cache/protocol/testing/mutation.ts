import type { InvalidationView, ViewLimits } from '../invalidation-view.ts'
import type { LogModelOptions } from './log-model.ts'

/** What a mutant does otherwise than the protocol. The simulator must catch every one of them. */
export interface Mutation extends Pick<LogModelOptions, 'ignoresRunId' | 'forgetsFloor' | 'missingIsZero'> {
  /** A view with a fault. */
  readonly view?: (limits: ViewLimits) => InvalidationView
  /** Stamps a fetched value when the fetch has ended. */
  readonly stampsAtEnd?: boolean
  /** Answers what a flight brings without judging it again. */
  readonly trustsFlights?: boolean
  /** Keeps what was read from Redis without judging it when it arrives. */
  readonly trustsReads?: boolean
  /** Takes what any server answers, also one that took over a moment ago and has old copies. */
  readonly trustsAnyServer?: boolean
  /** Counts the age of fetched data from the end of the fetch. */
  readonly datesFetchByEnd?: boolean
  /** Stores without checking the claim. */
  readonly ignoresClaims?: boolean
  /** Acknowledges strictly as soon as Redis has answered. */
  readonly acknowledgesEarly?: boolean
  /** Dates a proof by when the answer came. */
  readonly datesProofByReply?: boolean
  /** Leaves entries in the first level when their key is invalidated. */
  readonly keepsInvalidatedKeys?: boolean
}
