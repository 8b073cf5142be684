import { Emitter } from '../core/observe/emitter.ts'
import { type CompiledCapacity, compileCapacity, defaultCapacity } from '../policy/capacity/compile-capacity.ts'
import { PolicyError, type PolicyIssue } from '../policy/document/policy-error.ts'
import { usePolicy } from '../policy/live/open-policy.ts'
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
  const own = tableOf(options)
  const clock = options.clock ?? systemClock()
  const policy = options.policy && (await usePolicy('createCapacity', options.policy, {}))
  policy?.on('rejected', (event) => events.emit('policyRejected', event))
  const measured = options.process === false ? undefined : processSignals(clock)
  const signals = (inFlight: () => number): readonly Signal[] => [
    ...(measured?.signals ?? []),
    ...(options.maxInFlight === undefined ? [] : [inFlightSignal(options.maxInFlight, inFlight)]),
    ...(options.waiting === undefined ? [] : [waitingSignal(options.waiting)]),
    ...(options.load === undefined ? [] : [ownSignal(options.load)]),
  ]
  const endReport = addProcessPart({ kind: 'capacity', name: options.name ?? 'default', stats: () => capacity.stats() })
  const capacity = new MeasuredCapacity({
    clock,
    random: options.random ?? Math.random,
    signals,
    waitedMs: () => measured?.waitedMs() ?? 0,
    table: policy === undefined ? () => own : () => policy.live.current.capacity ?? defaultCapacity,
    policyError: () => policy?.live.status.lastError,
    events,
    async onClose() {
      endReport()
      measured?.stop()
      await policy?.close()
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
