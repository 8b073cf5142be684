import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { invalidOption } from '../core/errors.ts'
import { Emitter } from '../core/observe/emitter.ts'
import { reportPart } from '../redis/report-part.ts'
import { Gate } from '../runtime/gate.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { Counts } from './counts.ts'
import { DeadLetters } from './dead-letters.ts'
import type { ResolvedExecution } from './execution.ts'
import { checkOptions, checkRate, type PipelineOptions } from './options.ts'
import {
  type Pipeline,
  type PipelineEvents,
  type PipelineSink,
  type PipelineSource,
  pipelineEventNames,
} from './pipeline.ts'
import { memoryPositions } from './positions/positions.ts'
import { RunningPipeline } from './running-pipeline.ts'
import { iterableSource } from './sources/iterable-source.ts'

/**
 * Moves records from a source to a sink, at a rate that is held over all workers.
 *
 * @example
 * const pipeline = await createPipeline({
 *   name: 'load-offers',
 *   source: fileSource('offers.ndjson.gz'),
 *   steps: [(offer: Offer) => (offer.price > 0 ? offer : reject('it has no price'))],
 *   sink: postgresSink(pool, { table: 'offers', conflict: ['id'] }),
 *   deadLetters: fileSink('rejected.ndjson'),
 * })
 * const { written, rejected } = await pipeline.run()
 * await pipeline.close()
 */
export async function createPipeline<T = unknown>(options: PipelineOptions<T>): Promise<Pipeline> {
  const { execution, leaseMs, stallMs } = checkOptions(options as PipelineOptions<never>)
  const { name, steps = [], limiter, rate, dryRun = false, clock = systemClock(), random = Math.random } = options
  const source = sourceOf(options.source, options.sink as PipelineSink)
  const given = sinkOf<T>(options.sink)
  const sink = dryRun ? { write: async () => undefined } : given
  const deadLetters = options.deadLetters && sinkOf(options.deadLetters)
  checkPositions(options, source, execution)
  if (limiter && rate) await checkRate(limiter, rate as never)
  const events = new Emitter<PipelineEvents>(pipelineEventNames)
  const counts = new Counts(clock.monotonic())
  const endReport = reportPart(undefined, { kind: 'pipeline', name, stats: () => pipeline.stats() })
  const pipeline: RunningPipeline = new RunningPipeline({
    ...{ name, source, steps, execution, leaseMs, stallMs, counts, events, clock, random },
    sink: sink as PipelineSink<never>,
    positionsName: options.run === undefined ? name : `${name}@${options.run}`,
    isClaimed: isClaimed(source, sink),
    worker: options.worker ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`,
    rate: limiter && rate && !dryRun ? ({ ...rate, limiter } as never) : undefined,
    positions: dryRun ? memoryPositions(clock) : (sink.positions ?? options.positions ?? memoryPositions(clock)),
    deadLetters: new DeadLetters({
      write: dryRun ? undefined : deadLetters?.write,
      maxRejected: options.maxRejected ?? (deadLetters ? Number.MAX_SAFE_INTEGER : 0),
      read: () => counts.read,
      written(letter) {
        counts.rejected += 1
        events.emit('rejected', letter)
      },
    }),
    gate: new Gate({
      limit: execution.parallelism,
      queue: Number.POSITIVE_INFINITY,
      clock,
      refusal: () => new Error('unreachable: the queue has no bound'),
    }),
    async onClose() {
      await endReport()
      const closing = steps.flatMap((step) => (typeof step === 'function' ? [] : [step]))
      for (const part of [source, ...closing, given, deadLetters]) await part?.close?.()
    },
  })
  return pipeline
}

function sourceOf(source: PipelineOptions['source'], sink: PipelineSink): PipelineSource {
  if (typeof source === 'function' || !('read' in source && 'partitions' in source)) return iterableSource(source)
  if (source.commit && !source.seeks && sink.positions) {
    const remedy =
      'it acknowledges records one by one, and this sink keeps positions: leave out `group`, or `positions`'
    throw invalidOption('createPipeline.source', source, remedy)
  }
  return source
}

/** A source with a group hands out its partitions, unless the position is to be saved with the data. */
function isClaimed(source: PipelineSource, sink: PipelineSink<never>): boolean {
  return source.commit === undefined || (source.seeks === true && sink.positions !== undefined)
}

function sinkOf<T>(sink: PipelineSink<T> | PipelineSink<T>['write']): PipelineSink<T> {
  return typeof sink === 'function' ? { write: sink } : sink
}

/** Refuses positions with which a second load would not begin, or a trial would take records away. */
function checkPositions(
  { run, dryRun, positions, sink }: PipelineOptions<never>,
  source: PipelineSource,
  { mode }: ResolvedExecution,
): void {
  if (dryRun && source.commit)
    throw invalidOption(
      'createPipeline.dryRun',
      dryRun,
      'this source hands out each record once; use a source without group',
    )
  const isKept = positions !== undefined || (typeof sink === 'object' && sink.positions !== undefined)
  if (mode === 'batch' && isKept && !dryRun && !source.identity && !source.commit && run === undefined) {
    const remedy = 'name this load, such as its date: the source does not tell whether it was loaded already'
    throw invalidOption('createPipeline.run', run, remedy)
  }
}
