import type { Limiter } from '../limiter/limiter.ts'
import type { Gate } from '../runtime/gate.ts'
import { untilAborted } from '../runtime/until-aborted.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { ResolvedExecution } from './execution.ts'
import type {
  Batch,
  DeadLetter,
  PartitionStats,
  PipelineRecord,
  PipelineSink,
  PipelineSource,
  Rejection,
} from './pipeline.ts'
import { pipelineFailed } from './pipeline-error.ts'
import { type Claim, Fenced, type Positions } from './positions/positions.ts'
import { BatchRate, type RateOptions } from './rate.ts'
import { Retry, type RetryParts } from './retry.ts'
import { applySteps, type Passing, type Step } from './steps.ts'

/** What the partitions of one run share. */
export interface RunParts extends RetryParts {
  readonly name: string
  readonly source: PipelineSource
  readonly identity: string | undefined
  readonly steps: readonly Step[]
  readonly sink: PipelineSink<never>
  readonly execution: ResolvedExecution
  readonly rate: (RateOptions<never> & { readonly limiter: Limiter }) | undefined
  readonly positions: Positions
  readonly leaseMs: number
  readonly deadLetters: DeadLetters
  readonly gate: Gate
  /** While nothing is to be read: resolves when it is again. */
  readonly paused: () => Promise<void> | undefined
  /** Stop reading and finish what is in hand. */
  readonly stop: AbortSignal
  /** Stop at once. */
  readonly abort: AbortSignal
}

type Doing = PartitionStats['doing']

/** Moves the records of one partition, batch by batch. */
export class PartitionRun {
  readonly partition: string
  readonly #parts: RunParts
  /** Undefined where the source keeps positions itself. */
  readonly #claim: Claim | undefined
  readonly #end = new AbortController()
  readonly #revoked = new AbortController()
  readonly #retry: Retry
  #leaseUntilMs: number
  /** Up to where everything is in the sink. */
  #position: string | undefined
  #saved: string | undefined
  #savedAtMs: number
  #doing: Doing = 'reading'
  #sinceMs: number
  /** Records of this partition in memory. */
  #held = 0
  lag: number | undefined

  constructor(parts: RunParts, partition: string, claim: Claim | undefined, claimedAtMs: number) {
    this.partition = partition
    this.#parts = parts
    this.#retry = new Retry(parts, partition, this.#end.signal)
    this.#claim = claim
    this.#position = claim?.next
    this.#saved = claim?.next
    this.#leaseUntilMs = claimedAtMs + parts.leaseMs
    this.#savedAtMs = claimedAtMs
    this.#sinceMs = claimedAtMs
  }

  /** Whether it only waits for the rate, so that another partition may be worked on. */
  get isWaiting(): boolean {
    return this.#doing === 'waiting'
  }

  stats(): PartitionStats {
    return {
      partition: this.partition,
      epoch: this.#claim?.epoch ?? 0,
      position: this.#position,
      doing: this.#doing,
      doingMs: Math.round(this.#parts.clock.monotonic() - this.#sinceMs),
      lag: this.lag,
      error: this.#retry.error,
    }
  }

  /** Reads to the end, or until the run stops. Rejects when the run cannot go on. */
  async run(): Promise<'done' | 'stopped' | 'lost'> {
    const { abort } = this.#parts
    const end = (): void => this.#end.abort(abort.reason)
    abort.addEventListener('abort', end)
    if (abort.aborted) end()
    try {
      const isDone = await this.#pull()
      if (isDone) await this.#refuseChangedSource()
      // A stream that has ended may go on in another run.
      const { execution, source } = this.#parts
      await this.#save(isDone && (execution.mode === 'batch' || source.isDynamic === true))
      if (this.#claim) await this.#retry.until('save', () => this.#parts.positions.release(this.#claim!))
      return isDone ? 'done' : 'stopped'
    } catch (error) {
      if (this.#end.signal.reason instanceof Fenced) return 'lost'
      if (abort.aborted) return 'stopped'
      // Whoever goes on need not wait for the claim to expire.
      if (this.#claim) await this.#parts.positions.release(this.#claim).catch(() => undefined)
      throw error
    } finally {
      abort.removeEventListener('abort', end)
      this.#end.abort()
      this.#hold(-this.#held)
    }
  }

  /** Stops reading and finishes what is in hand; what is not done within the time is left to the next owner. */
  revoke(withinMs: number): void {
    if (this.#revoked.signal.aborted) return
    this.#revoked.abort()
    const { clock } = this.#parts
    const timer = clock.setTimeout(() => this.#end.abort(this.#fenced()), withinMs)
    this.#end.signal.addEventListener('abort', () => clock.clearTimeout(timer))
  }

  /** Extends the claim; notices that it was lost. */
  async renew(): Promise<void> {
    const { positions, leaseMs, clock, source } = this.#parts
    if (this.#claim === undefined) return source.renew?.(this.partition)
    const startedAt = clock.monotonic()
    if (await positions.extend(this.#claim, leaseMs)) this.#leaseUntilMs = startedAt + leaseMs
    else this.#end.abort(this.#fenced())
  }

  /** Reads and writes until the partition ends (true) or the run stops (false). */
  async #pull(): Promise<boolean> {
    const { source, execution, counts, events, clock } = this.#parts
    const { partition } = this
    const stop = AbortSignal.any([this.#parts.stop, this.#revoked.signal])
    const lost = (records: number, reason: string): void => {
      counts.lost += records
      events.emit('lost', { partition, records, reason })
    }
    for (let attempt = 0; ; ) {
      const reading = new AbortController()
      const signal = AbortSignal.any([reading.signal, stop, this.#end.signal])
      // A source that keeps positions goes on at its own: meanwhile another worker may have had the partition.
      const from = this.#claim && this.#position
      const options = { partition, from, execution, signal, clock, lost }
      const pages = source.read(options)[Symbol.asyncIterator]()
      try {
        for (let page = this.#next(pages); ; ) {
          this.#do('reading')
          const records = await untilAborted(page, signal)
          if (records === undefined) return !signal.aborted
          attempt = 0
          const paused = this.#parts.paused()
          if (paused) await untilAborted(paused, signal)
          if (records.length === 0) {
            await this.#checkpoint()
            page = this.#next(pages)
            continue
          }
          await this.#process(records, () => {
            page = this.#next(pages)
          })
        }
      } catch (error) {
        if (stop.aborted && !this.#end.signal.aborted && this.#doing === 'reading') return false
        if (this.#end.signal.aborted || this.#doing !== 'reading') throw error
        await this.#retry.failed('read', error, attempt++)
      } finally {
        reading.abort()
        void pages.return?.()?.catch(() => undefined)
        this.#hold(-this.#held)
      }
    }
  }

  /** Fetches the next records, which count as in memory from then on. */
  #next(pages: AsyncIterator<readonly PipelineRecord[]>): Promise<readonly PipelineRecord[] | undefined> {
    const page = pages.next().then(({ done, value }) => {
      if (done) return undefined
      this.#parts.counts.read += value.length
      this.#hold(value.length)
      return value as readonly PipelineRecord[]
    })
    // Nobody waits for it when the run stops meanwhile.
    page.catch(() => undefined)
    return page
  }

  async #process(records: readonly PipelineRecord[], readAhead: () => void): Promise<void> {
    const { source, gate, rate } = this.#parts
    const signal = this.#end.signal
    await this.#enter('steps')
    let kept: readonly Passing[]
    try {
      kept = await this.#takeSteps(records)
    } finally {
      gate.leave()
    }
    const next = records.at(-1)!.position
    const allowance =
      rate &&
      new BatchRate(
        rate.limiter,
        rate,
        kept.map(({ value }) => value),
      )
    for (let written = 0, isLast = false; !isLast; ) {
      if (allowance) await this.#waitForRate(allowance, written)
      const granted = allowance?.granted ?? kept.length
      isLast = granted === kept.length
      const piece = kept.slice(written, granted)
      await this.#enter('writing')
      try {
        if (isLast) readAhead()
        await this.#write(piece, isLast ? next : piece.at(-1)!.origin.position)
      } finally {
        gate.leave()
      }
      written = granted
    }
    if (source.commit && this.#claim === undefined) {
      this.#do('saving')
      await this.#retry.until('save', () => this.#unlessFenced(source.commit!(records, this.partition)))
      this.#parts.events.emit('saved', { partition: this.partition, position: next })
    } else {
      if (!this.#parts.sink.positions) await this.#checkpoint()
      // For those who watch the group; nothing depends on it.
      source.commit?.(records, this.partition).catch(() => undefined)
    }
    this.#hold(-records.length)
    signal.throwIfAborted()
  }

  async #takeSteps(records: readonly PipelineRecord[]): Promise<readonly Passing[]> {
    const { steps, counts } = this.#parts
    const { partition } = this
    const signal = this.#end.signal
    const { kept, rejected, dropped } = await this.#retry.until('step', (attempt) =>
      applySteps(steps, records, { signal, partition, attempt }),
    )
    await this.#reject(rejected.map(({ origin, reason }) => this.#letter(origin, reason)))
    counts.dropped += dropped
    return kept
  }

  async #waitForRate(allowance: BatchRate, written: number): Promise<void> {
    const { clock, events } = this.#parts
    await this.#retry.until('write', () => allowance.takeNow())
    if (allowance.granted > written) return
    // It may take until tomorrow: who goes on after a crash is not to repeat what was written before it.
    if (written > 0 && !this.#parts.sink.positions) await this.#checkpoint()
    this.#do('waiting')
    const startedAt = clock.monotonic()
    while (allowance.granted === written) await this.#retry.until('write', () => allowance.wait(this.#end.signal))
    await this.#retry.until('write', () => allowance.takeNow())
    events.emit('waited', { partition: this.partition, durationMs: clock.monotonic() - startedAt })
  }

  /** Writes a piece of a batch as often as it takes, also an empty one if the sink saves the position with it. */
  async #write(piece: readonly Passing[], next: string): Promise<void> {
    const { sink, clock, counts, events } = this.#parts
    const records = piece.map(recordOf)
    const batch: Batch<never> = { partition: this.partition, records, from: this.#position, next }
    const rejected = new Set<number>()
    const reject = async (rejections: readonly Rejection[]): Promise<void> => {
      // A batch that is tried again rejects the same records.
      const fresh = rejections.filter(({ index }) => !rejected.has(index))
      await this.#reject(fresh.map(({ index, reason }) => this.#letter(piece[index]!.origin, reason)))
      for (const { index } of fresh) rejected.add(index)
    }
    if (piece.length > 0 || sink.positions) {
      const startedAt = clock.monotonic()
      await this.#retry.until('write', async (attempt) => {
        if (this.#claim && clock.monotonic() > this.#leaseUntilMs) await this.renew()
        this.#end.signal.throwIfAborted()
        await this.#unlessFenced(sink.write(batch, { claim: this.#claim, attempt, signal: this.#end.signal, reject }))
      })
      const written = piece.length - rejected.size
      counts.wrote(written, clock.monotonic())
      events.emit('written', { partition: this.partition, records: written, durationMs: clock.monotonic() - startedAt })
    }
    this.#position = next
    if (!sink.positions) return
    this.#saved = next
    events.emit('saved', { partition: this.partition, position: next })
  }

  async #reject(letters: readonly DeadLetter[]): Promise<void> {
    const { deadLetters } = this.#parts
    if (letters.length > 0) await this.#retry.until('deadLetters', () => deadLetters.add(letters, this.#end.signal))
  }

  #letter({ value, position }: PipelineRecord, reason: string): DeadLetter {
    return { pipeline: this.#parts.name, partition: this.partition, position, reason, value }
  }

  /** Parts of a file that grows overlap, or leave lines out. */
  async #refuseChangedSource(): Promise<void> {
    const { source, identity, name } = this.#parts
    if ((await source.identity?.()) === identity) return
    throw pipelineFailed(
      `the source of ${name} has changed while partition ${this.partition} was read; ` +
        'load it when it is complete, under a name of its own with `run`',
    )
  }

  /** Saves after every batch of a load, and at intervals in a stream. */
  async #checkpoint(): Promise<void> {
    const { execution, clock } = this.#parts
    const isDue = clock.monotonic() - this.#savedAtMs >= execution.checkpointIntervalMs
    if (execution.mode === 'batch' || isDue) await this.#save(false)
  }

  async #save(done: boolean): Promise<void> {
    const { positions, events, clock, identity: source } = this.#parts
    const [claim, next] = [this.#claim, this.#position]
    if (claim === undefined || (next === this.#saved && !done)) return
    this.#do('saving')
    const isOurs = await this.#retry.until('save', () => positions.save(claim, { next, done, source }))
    if (!isOurs) this.#end.abort(this.#fenced())
    this.#end.signal.throwIfAborted()
    this.#saved = next
    this.#savedAtMs = clock.monotonic()
    events.emit('saved', { partition: this.partition, position: next })
  }

  /** Stops at once when another has the partition. */
  async #unlessFenced<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      if (error instanceof Fenced) this.#end.abort(error)
      throw error
    }
  }

  #fenced(): Fenced {
    return new Fenced(`another worker owns partition ${this.partition}`)
  }

  async #enter(doing: Doing): Promise<void> {
    const { gate } = this.#parts
    if (!gate.tryEnter()) await gate.turn(this.#end.signal)
    this.#do(doing)
  }

  #hold(records: number): void {
    this.#held += records
    this.#parts.counts.buffer(records)
  }

  #do(doing: Doing): void {
    this.#doing = doing
    this.#sinceMs = this.#parts.clock.monotonic()
  }
}

/** What a sink gets of a record: what the source gave, unless a step changed it. */
function recordOf({ origin, value }: Passing): PipelineRecord<never> {
  return (value === origin.value ? origin : { value, position: origin.position }) as PipelineRecord<never>
}
