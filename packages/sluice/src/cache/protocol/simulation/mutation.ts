import type { InvalidationView, ViewLimits } from '../invalidation-view.ts'
import type { LogModelOptions } from './log-model.ts'

/** How a mutant differs from the protocol. The simulator must catch every one of them. */
export interface Mutation extends Pick<LogModelOptions, 'ignoresRunId' | 'forgetsFloor' | 'missingIsZero'> {
  /** A view with a fault. */
  readonly view?: (limits: ViewLimits) => InvalidationView
  /** Stamps a fetched value when the fetch has ended. */
  readonly stampsAtEnd?: boolean
  /** Returns the result of a flight without judging it again. */
  readonly trustsFlights?: boolean
  /** Keeps what was read from Redis without judging it when it arrives. */
  readonly trustsReads?: boolean
  /** Accepts answers of any server, also one that took over a moment ago and has old copies. */
  readonly trustsAnyServer?: boolean
  /** Counts the age of fetched data from the end of the fetch. */
  readonly datesFetchByEnd?: boolean
  /** Counts the age of what it read by a clock that was read before the request. */
  readonly datesReadsTooEarly?: boolean
  /** Stores without checking the lock. */
  readonly ignoresLocks?: boolean
  /** Acknowledges strictly as soon as Redis has answered. */
  readonly acknowledgesEarly?: boolean
  /** Acknowledges when its own proofs have ended, however long those of others hold. */
  readonly waitsForOwnProofs?: boolean
  /** Reads a clock that ignores a step forward at first. */
  readonly provesByCoarseTime?: boolean
  /** Dates a proof by when the reply came. */
  readonly datesProofByReply?: boolean
  /** Leaves entries in the first level when their key is invalidated. */
  readonly keepsInvalidatedKeys?: boolean
  /** Keeps what Redis answered, although something newer arrived in the first level meanwhile. */
  readonly keepsWhatItRead?: boolean
  /** After an invalidation was rejected, reads in flight are kept as if nothing had happened. */
  readonly forgetsRejected?: boolean
  /** A producer stores by the sequence of what is there, without a lock of its own. */
  readonly setsWithoutLock?: boolean
  /** A producer leaves the lock of a fetch that is in flight. */
  readonly setsBesideLocks?: boolean
  /** An invalidation frees a key that is being set, so that others fetch between the steps of the set. */
  readonly freesLocksOfSets?: boolean
  /** A producer keeps in its process what it set, without judging it. */
  readonly trustsSets?: boolean
}
