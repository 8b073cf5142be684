import type { Clock } from '../core/clock.ts'
import type { CloseOptions, Part } from '../runtime/part.ts'
import type { ResolvedExecution } from './execution.ts'
import type { Claim, Positions } from './positions/positions.ts'

/** One record of a source. */
export interface PipelineRecord<T = unknown> {
  readonly value: T
  /** Where reading goes on after this record, as its source writes it. */
  readonly position: string
  /** Why the source could not read it, such as a line that is no JSON; it then goes to the dead letters. */
  readonly rejected?: string
}

/** Records of one partition, in order. */
export interface Batch<T = unknown> {
  readonly partition: string
  readonly records: readonly PipelineRecord<T>[]
  /** Where the batch begins; undefined at the beginning of the partition. */
  readonly from: string | undefined
  /** Where reading goes on once the batch is written. */
  readonly next: string | undefined
}

export interface ReadOptions {
  readonly partition: string
  readonly from: string | undefined
  readonly execution: ResolvedExecution
  /** Ends the reading. */
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Says that the source no longer has records that were never read. */
  readonly lost: (records: number, reason: string) => void
}

/** What a source may want to know when it lists its partitions. */
export interface Listing {
  /** Partitions that were read to their end, by any worker. */
  readonly done: ReadonlySet<string>
  /** To be called when the list is no longer right. */
  readonly changed: () => void
}

/** Where records come from. */
export interface PipelineSource<T = unknown> {
  /** The names of all partitions that this worker may read; asked for about every second. */
  partitions(execution: ResolvedExecution, listing: Listing): Promise<readonly string[]>
  /**
   * Partitions come and go: one that is no longer listed is given up, one that ended is never read again, and a run
   * does not end when there is none.
   */
  readonly isDynamic?: true
  /**
   * Reads a partition on from a position: lists of at most `batchSize` records, each fetched when it is asked for. An
   * empty list says that there is nothing new at the moment; the end, that there never will be.
   */
  read(options: ReadOptions): AsyncIterable<readonly PipelineRecord<T>[]>
  /** Text that changes when the records do: a load that was interrupted is not resumed over others. */
  identity?(): Promise<string>
  /**
   * Of a source that keeps positions itself, as a consumer group does: these records are written. Its partitions are
   * not claimed, unless it `seeks` and the sink keeps positions.
   */
  commit?(records: readonly PipelineRecord<T>[], partition: string): Promise<void>
  /** Of such a source: it can also read on from a position that is kept elsewhere. `commit` is a hint then. */
  readonly seeks?: true
  /** Of such a source: the records that are in hand are still being worked on. */
  renew?(partition: string): Promise<void>
  /** How many records are still to be read after a position; undefined when nobody knows. */
  lag?(partition: string, position: string | undefined): Promise<number | undefined>
  close?(): Promise<void>
}

/** A record of a batch that the sink cannot take. */
export interface Rejection {
  /** Its place in `batch.records`. */
  readonly index: number
  readonly reason: string
}

export interface WriteContext {
  /** The partition, as this worker owns it; undefined where the source keeps positions itself. */
  readonly claim: Claim | undefined
  /** Which try it is, from 0. */
  readonly attempt: number
  /** Aborts when the worker must stop at once or has lost the partition. */
  readonly signal: AbortSignal
  /** Records that can never be written go to the dead letters. Await it before you commit the others. */
  reject(rejections: readonly Rejection[]): Promise<void>
}

/** Writes a batch; resolved means durable. What it throws is tried again with the same batch. */
export type WriteFunction<T = unknown> = (batch: Batch<T>, context: WriteContext) => Promise<unknown>

/** Where records go. */
export interface PipelineSink<T = unknown> {
  readonly write: WriteFunction<T>
  /** Of a sink that saves the position of a batch in the transaction that writes it. */
  readonly positions?: Positions
  close?(): Promise<void>
}

/** A record that a source, a step or a sink rejected. */
export interface DeadLetter {
  readonly pipeline: string
  readonly partition: string
  readonly position: string
  readonly reason: string
  /** As the source gave it. */
  readonly value: unknown
}

export interface PipelineEvents {
  /** This worker has taken a partition. */
  claimed: { readonly partition: string; readonly epoch: number; readonly from: string | undefined }
  /** This worker no longer works on a partition. Lost: another took it over, as this one did not renew its claim. */
  released: { readonly partition: string; readonly why: 'done' | 'stopped' | 'lost' | 'failed' }
  /** Records are in the sink. */
  written: { readonly partition: string; readonly records: number; readonly durationMs: number }
  /** The position of a partition was saved, or acknowledged to its source. */
  saved: { readonly partition: string; readonly position: string | undefined }
  /** A record went to the dead letters. */
  rejected: DeadLetter
  /** A source no longer has records that were never read. */
  lost: { readonly partition: string; readonly records: number; readonly reason: string }
  /** Records waited for the rate. */
  waited: { readonly partition: string; readonly durationMs: number }
  /** Something did not work and is tried again. */
  failed: {
    readonly partition: string
    readonly operation: 'claim' | 'read' | 'step' | 'write' | 'save' | 'deadLetters'
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number
  }
}

/** The names of all events. */
export const pipelineEventNames: Readonly<Record<keyof PipelineEvents, true>> = {
  claimed: true,
  released: true,
  written: true,
  saved: true,
  rejected: true,
  lost: true,
  waited: true,
  failed: true,
}

/** One partition in the stats. */
export interface PartitionStats {
  readonly partition: string
  readonly epoch: number
  readonly position: string | undefined
  /** What it does now. */
  readonly doing: 'reading' | 'steps' | 'waiting' | 'writing' | 'saving'
  readonly doingMs: number
  /** Records still to be read, where the source knows. */
  readonly lag: number | undefined
  /** What it last failed with, until something works again. */
  readonly error: string | undefined
}

export interface PipelineStats {
  readonly state: 'idle' | 'running' | 'paused' | 'done' | 'stopped' | 'failed'
  readonly mode: 'batch' | 'streaming'
  /** Records that were read. */
  readonly read: number
  readonly written: number
  /** Records written per second, lately. */
  readonly perSecond: number
  /** Records that a step left out. */
  readonly dropped: number
  readonly rejected: number
  readonly lost: number
  readonly batches: number
  readonly failures: number
  /** Records in memory, and the most there ever were. */
  readonly buffered: number
  readonly mostBuffered: number
  readonly partitionsDone: number
  readonly partitionsTotal: number
  /** The partitions of this worker, at most 50. */
  readonly partitions: readonly PartitionStats[]
}

/** What a run did. */
export interface RunReport {
  /** Done: every partition was read to its end, by this worker or another. */
  readonly outcome: 'done' | 'stopped'
  readonly read: number
  readonly written: number
  readonly dropped: number
  readonly rejected: number
  readonly lost: number
  readonly durationMs: number
}

/** Moves records from a source to a sink. Made by `createPipeline`. */
export interface Pipeline extends Part<PipelineEvents> {
  readonly name: string
  /** Runs until the source ends or the pipeline is closed. Rejects when the run cannot go on. */
  run(): Promise<RunReport>
  /** Reads no more until `resume`; what is in hand is finished. Partitions stay with this worker. */
  pause(): void
  resume(): void
  stats(): PipelineStats
  /**
   * Stops reading, finishes what is in hand, saves the positions and releases the partitions, in this order. What is
   * not written within the time, 30 s by default, is left to the next run.
   */
  close(options?: CloseOptions): Promise<void>
}
