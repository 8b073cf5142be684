import { checkFunction, checkOptionNames, checkWhole } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import type { Duration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import type { CapacitySpec } from '../policy/document/capacity-spec.ts'
import type { PolicyInput } from '../policy/live/open-policy.ts'

export interface CapacityOptions {
  /** The table, in place of a policy's section `capacity`. */
  readonly table?: CapacitySpec['table']
  /** When senders should try again after not ready, such as `'30s'`. */
  readonly retryAfter?: Duration
  /** A policy whose section `capacity` has the table, in any form that `createLimiter` takes; changes are followed. */
  readonly policy?: PolicyInput
  /** The most requests that should be in flight; the guard counts them. */
  readonly maxInFlight?: number
  /** How long work waits before it begins, in milliseconds, such as for a connection of a pool. */
  readonly waiting?: () => number
  /** A load of your own, 0 to 100, in addition to the others. */
  readonly load?: () => number
  /** Whether the event loop, processors and heap of this process count. True by default. */
  readonly process?: boolean
  /** Tells capacities of a process apart in reports. */
  readonly name?: string
  readonly clock?: Clock
  readonly random?: () => number
}

const known = ['table', 'retryAfter', 'policy', 'maxInFlight', 'waiting', 'load', 'process', 'name', 'clock', 'random']

export function checkOptions(options: CapacityOptions): void {
  checkOptionNames('createCapacity', options, known)
  if (options.maxInFlight !== undefined) checkWhole('createCapacity.maxInFlight', options.maxInFlight, 1, 'requests')
  for (const name of ['waiting', 'load', 'random'] as const) checkFunction(`createCapacity.${name}`, options[name])
  if (options.policy !== undefined && (options.table !== undefined || options.retryAfter !== undefined)) {
    throw invalidOption('createCapacity.table', options.table, 'give either a table or a policy')
  }
}
