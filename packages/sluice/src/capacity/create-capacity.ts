import { Emitter } from '../core/observe/emitter.ts'
import { type CompiledCapacity, compileCapacity, defaultCapacity } from '../policy/capacity/compile-capacity.ts'
import { compilePolicyInSlices } from '../policy/compile/compile-policy.ts'
import { PolicyError, type PolicyIssue } from '../policy/document/policy-error.ts'
import { type LivePolicy, livePolicy } from '../policy/live/live-policy.ts'
import type { PolicySource } from '../policy/live/source.ts'
import { staticPolicy } from '../policy/sources/static.ts'
import { addProcessPart } from '../runtime/process-parts.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { type Capacity, MeasuredCapacity } from './capacity.ts'
import { type CapacityEvents, capacityEventNames } from './events.ts'
import { inFlightSignal, ownSignal, processSignals, type Signal, waitingSignal } from './load/load-meter.ts'
import { type CapacityOptions, checkOptions } from './options.ts'

/**
 * Measures how much load this process can take.
 *
 * @example
 * const capacity = await createCapacity({ maxInFlight: 200 })
 * app.use(protect(allOf(answering(capacity, '/v1/events/capacity'), shedding(capacity))))
 */
export async function createCapacity(options: CapacityOptions = {}): Promise<Capacity> {
  checkOptions(options)
  const events = new Emitter<CapacityEvents>(capacityEventNames)
  const live = options.policy && (await follow(options.policy, events))
  const own = tableOf(options)
  const clock = options.clock ?? systemClock()
  const measured = options.process === false ? undefined : processSignals(clock)
  const signals = (inFlight: () => number): readonly Signal[] => [
    ...(measured?.signals ?? []),
    ...(options.maxInFlight === undefined ? [] : [inFlightSignal(options.maxInFlight, inFlight)]),
    ...(options.waiting === undefined ? [] : [waitingSignal(options.waiting)]),
    ...(options.load === undefined ? [] : [ownSignal(options.load)]),
  ]
  const endReport = addProcessPart({ kind: 'capacity', name: '', stats: () => capacity.stats() })
  const capacity = new MeasuredCapacity({
    clock,
    random: options.random ?? Math.random,
    signals,
    waitedMs: () => measured?.waitedMs() ?? 0,
    table: live === undefined ? () => own : () => live.current.capacity ?? defaultCapacity,
    policyError: () => live?.status.lastError,
    events,
    async onClose() {
      endReport()
      measured?.stop()
      await live?.close()
    },
  })
  return capacity
}

function tableOf(options: CapacityOptions): CompiledCapacity {
  const issues: PolicyIssue[] = []
  const { table, retryAfter } = options
  const spec = { table, retryAfter: typeof retryAfter === 'number' ? `${retryAfter}ms` : retryAfter }
  const compiled = compileCapacity(spec, 'createCapacity', (path, value, message) =>
    issues.push({ path, value, message }),
  )
  if (issues.length > 0) throw new PolicyError(issues)
  return compiled
}

function follow(policy: NonNullable<CapacityOptions['policy']>, events: Emitter<CapacityEvents>): Promise<LivePolicy> {
  const source = 'start' in policy ? (policy as PolicySource) : staticPolicy(policy)
  return livePolicy({
    source,
    compile: (document) => compilePolicyInSlices(document),
    onRejected: (error) => events.emit('policyRejected', { source: source.description, error }),
  })
}
