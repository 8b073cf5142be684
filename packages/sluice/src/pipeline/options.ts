import { checkOptionNames, durationFrom, optionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import type { Duration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { PolicyIssue } from '../policy/document/policy-error.ts'
import type { MaxRejected } from './dead-letters.ts'
import { type Execution, type ResolvedExecution, readExecution } from './execution.ts'
import type { DeadLetter, PipelineSink, PipelineSource, WriteFunction } from './pipeline.ts'
import { PipelineError } from './pipeline-error.ts'
import type { Positions } from './positions/positions.ts'
import { type RateOptions, sharedKey } from './rate.ts'
import type { Step } from './steps.ts'

export interface PipelineOptions<T = unknown> {
  /** Tells it apart from others; workers with the same name share the work. */
  readonly name: string
  /** Where records come from; any iterable is accepted as it is, and a function that returns one. */
  readonly source:
    | PipelineSource
    | AsyncIterable<unknown>
    | Iterable<unknown>
    | (() => AsyncIterable<unknown> | Iterable<unknown>)
  readonly steps?: readonly Step[]
  /** Where records go; a function is accepted as it is. */
  readonly sink: PipelineSink<T> | WriteFunction<T>
  /** A batch run by default. */
  readonly execution?: Execution
  /** Holds `rate`. */
  readonly limiter?: Limiter
  readonly rate?: RateOptions<T>
  /** Where positions and claims are kept, unless the sink or the source does; in memory by default. */
  readonly positions?: Positions
  /** Where rejected records go. Without it, the first rejected record ends the run. */
  readonly deadLetters?: PipelineSink<DeadLetter> | WriteFunction<DeadLetter>
  /** How many records may be rejected before the run ends; without limit where there are dead letters. */
  readonly maxRejected?: MaxRejected
  /** Names this load, such as its date: another name begins at the beginning. */
  readonly run?: string
  /** How this worker is called in the claims. Made up when left out. */
  readonly worker?: string
  /** How long a worker that died keeps its partitions; 30 s by default. */
  readonly lease?: Duration
  /** How long one batch may take before the pipeline is not ready; 60 s by default. */
  readonly stallAfter?: Duration
  /** Reads and takes the steps, but neither writes nor saves anything. */
  readonly dryRun?: boolean
  /** Time, for tests. */
  readonly clock?: Clock
  readonly random?: () => number
}

const known = optionNames<Required<PipelineOptions>>({
  name: true,
  source: true,
  steps: true,
  sink: true,
  execution: true,
  limiter: true,
  rate: true,
  positions: true,
  deadLetters: true,
  maxRejected: true,
  run: true,
  worker: true,
  lease: true,
  stallAfter: true,
  dryRun: true,
  clock: true,
  random: true,
})

export interface CheckedOptions {
  readonly execution: ResolvedExecution
  readonly leaseMs: number
  readonly stallMs: number
}

export function checkOptions(options: PipelineOptions<never>): CheckedOptions {
  checkOptionNames('createPipeline', options, known)
  const { name, source, sink, steps = [], maxRejected = 0, rate } = options
  if (typeof name !== 'string' || name === '') throw invalidOption('createPipeline.name', name, 'give it a name')
  if (source === undefined || source === null)
    throw invalidOption('createPipeline.source', source, 'pass a source, or any iterable')
  if (typeof sink !== 'function' && typeof sink?.write !== 'function')
    throw invalidOption('createPipeline.sink', sink, 'pass a sink, or a function that writes a batch')
  steps.forEach((step, i) => {
    if (typeof step !== 'function' && typeof step?.batch !== 'function')
      throw invalidOption(`createPipeline.steps[${i}]`, step, 'pass a function, or { batch: function }')
  })
  if (!isMaxRejected(maxRejected))
    throw invalidOption('createPipeline.maxRejected', maxRejected, 'use a whole number, or a share such as "1%"')
  if (rate !== undefined) checkOptionNames('createPipeline.rate', rate, ['rule', 'key', 'cost'])
  if (rate !== undefined && options.limiter === undefined)
    throw invalidOption('createPipeline.limiter', undefined, 'give the limiter whose policy has the rule of `rate`')
  const issues: PolicyIssue[] = []
  const execution = readExecution(options.execution ?? { mode: 'batch' }, 'execution', (path, value, message) =>
    issues.push({ path, value, message }),
  )
  if (issues.length > 0) throw new PipelineError(issues)
  return {
    execution,
    leaseMs: durationFrom(100, 'createPipeline.lease', options.lease ?? '30s'),
    stallMs: durationFrom(1, 'createPipeline.stallAfter', options.stallAfter ?? '60s'),
  }
}

/** Whether it is a number of records, or a share of them. */
export function isMaxRejected(value: unknown): value is MaxRejected {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0
  return typeof value === 'string' && /^\d+(\.\d+)?%$/.test(value) && Number.parseFloat(value) <= 100
}

/** Refuses a rate that could never let a record pass. */
export async function checkRate(limiter: Limiter, { rule, cost }: RateOptions<never>): Promise<void> {
  const { limits, retryAfterMs } = await limiter.peek(sharedKey, { rule, cost: 1 })
  if (cost !== undefined || retryAfterMs !== Number.POSITIVE_INFINITY) return
  const least = Math.min(...limits.map(({ amount }) => amount))
  throw invalidOption('createPipeline.rate.rule', rule, `its limit is ${least}, and a record costs 1; raise it`)
}
