import { setMaxListeners } from 'node:events'
import { isSluiceError, SluiceError } from '../core/errors.ts'
import { every } from '../runtime/every.ts'
import { type CloseOptions, closeWithinMs, type PartHealth } from '../runtime/part.ts'
import { sleep } from '../runtime/sleep.ts'
import { withinTime } from '../runtime/within-time.ts'
import { PartitionRun, type RunParts } from './partition-run.ts'
import type { Pipeline, PipelineEvents, PipelineStats, RunReport } from './pipeline.ts'
import { pipelineFailed } from './pipeline-error.ts'
import type { Claim, PartitionState } from './positions/positions.ts'

export interface PipelineParts extends Omit<RunParts, 'identity' | 'stop' | 'abort' | 'paused'> {
  /** The name that positions are kept under. */
  readonly positionsName: string
  readonly worker: string
  /** Whether partitions are claimed in `positions`; else the source hands them out. */
  readonly isClaimed: boolean
  readonly stallMs: number
  /** Closes what the pipeline was given. */
  readonly onClose: () => Promise<void>
}

const closeMs = 30_000
/** How often to look for partitions to take. */
const lookMs = 1000
const mostListed = 50

/** Runs the partitions of a pipeline that this worker owns, and looks for more. */
export class RunningPipeline implements Pipeline {
  readonly #parts: PipelineParts
  readonly #stop = new AbortController()
  readonly #abort = new AbortController()
  readonly #runs = new Map<string, PartitionRun>()
  #state: Exclude<PipelineStats['state'], 'paused'> = 'idle'
  #running: Promise<RunReport> | undefined
  #error: Error | undefined
  #names: readonly string[] = []
  /** Partitions that are not read to their end yet, by anybody. */
  #left = new Set<string>()
  #isListed = false
  #isStale = false
  readonly #done = new Set<string>()
  /** How many partitions this worker read from the beginning to the end. */
  #readWhole = 0
  #resumed: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined
  #closing: Promise<void> | undefined
  #wake: () => void = () => undefined

  constructor(parts: PipelineParts) {
    this.#parts = parts
    // Every partition listens to them.
    setMaxListeners(0, this.#stop.signal, this.#abort.signal)
  }

  get name(): string {
    return this.#parts.name
  }

  run(): Promise<RunReport> {
    if (this.#running || this.#closing) {
      const message = this.#closing ? 'the pipeline is closed' : 'a pipeline runs once; make another for another run'
      return Promise.reject(new SluiceError(this.#closing ? 'SLUICE_CLOSED' : 'SLUICE_WRONG_USE', message))
    }
    this.#running = this.#run()
    return this.#running
  }

  pause(): void {
    if (this.#resumed) return
    let resolve = (): void => undefined
    const promise = new Promise<void>((done) => {
      resolve = done
    })
    this.#resumed = { promise, resolve }
  }

  resume(): void {
    this.#resumed?.resolve()
    this.#resumed = undefined
  }

  on<Name extends keyof PipelineEvents>(name: Name, listener: (event: PipelineEvents[Name]) => void): () => void {
    return this.#parts.events.on(name, listener)
  }

  stats(): PipelineStats {
    const { execution, counts, clock } = this.#parts
    return {
      state: this.#state === 'running' && this.#resumed ? 'paused' : this.#state,
      mode: execution.mode,
      ...counts,
      perSecond: Math.round(counts.perSecond(clock.monotonic()) * 10) / 10,
      partitionsDone: this.#names.length - this.#left.size,
      partitionsTotal: this.#names.length,
      partitions: [...this.#runs.values()].slice(0, mostListed).map((run) => run.stats()),
    }
  }

  /** By progress: a partition that is busy with one thing for too long is not ready, however alive the process is. */
  async health(): Promise<PartHealth> {
    const { stallMs } = this.#parts
    const { state, partitions } = this.stats()
    const reasons: string[] = []
    if (state === 'idle') reasons.push('The pipeline was not started.')
    if (state === 'stopped') reasons.push('The pipeline is closed.')
    if (this.#error) reasons.push(`The pipeline failed: ${this.#error.message}`)
    for (const { partition, doing, doingMs, error } of partitions) {
      if (state === 'paused' || doing === 'waiting' || doingMs < stallMs) continue
      const why = error === undefined ? '' : `; the last error was in ${error}`
      reasons.push(`Partition ${partition} makes no progress: ${doing} for ${Math.round(doingMs / 1000)} s${why}.`)
    }
    const warnings = partitions.flatMap(({ partition, error }) =>
      error === undefined ? [] : [`Partition ${partition} tries again: ${error}`],
    )
    if (state === 'paused') warnings.push('The pipeline is paused.')
    return { ready: reasons.length === 0, reasons, warnings }
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const withinMs = closeWithinMs('pipeline.close', options) ?? closeMs
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(withinMs: number): Promise<void> {
    const { clock, onClose } = this.#parts
    this.#stop.abort(new SluiceError('SLUICE_CLOSED', 'the pipeline is closed'))
    this.#wake()
    const ended = (this.#running ?? Promise.resolve()).then(
      () => undefined,
      () => undefined,
    )
    const late = (): Error => new Error('late')
    await withinTime(ended, { ms: withinMs, clock, late }).catch(() => this.#abort.abort(this.#stop.signal.reason))
    await ended
    if (this.#state === 'idle') this.#state = 'stopped'
    await onClose()
  }

  async #run(): Promise<RunReport> {
    const { clock, counts, leaseMs, deadLetters, source } = this.#parts
    const startedAt = clock.monotonic()
    this.#state = 'running'
    const endRenewing = every(Math.max(1, Math.floor(leaseMs / 3)), clock, () => this.#renewAll())
    try {
      await this.#work(await source.identity?.())
      const outcome = this.#isListed && this.#left.size === 0 ? 'done' : 'stopped'
      if (outcome === 'done') deadLetters.checkAtEnd(this.#readWhole === this.#names.length)
      this.#state = outcome
      const { read, written, dropped, rejected, lost } = counts
      return { outcome, read, written, dropped, rejected, lost, durationMs: clock.monotonic() - startedAt }
    } catch (error) {
      this.#state = 'failed'
      this.#error = error as Error
      throw error
    } finally {
      endRenewing()
    }
  }

  /** Takes partitions and works on them until all are done or the run stops. */
  async #work(identity: string | undefined): Promise<void> {
    const { source } = this.#parts
    const parts: RunParts = {
      ...this.#parts,
      identity,
      stop: this.#stop.signal,
      abort: this.#abort.signal,
      paused: () => this.#resumed?.promise,
    }
    for (let extra = 0; ; extra++) {
      try {
        if (!this.#stop.signal.aborted) await this.#takePartitions(parts, extra)
      } catch (error) {
        if (isSluiceError(error) && !error.transient) this.#fail(error)
        else this.#failedClaim('', error)
      }
      const isDone = this.#isListed && this.#left.size === 0 && !source.isDynamic
      const isOver = isDone || this.#stop.signal.aborted
      if (isOver && this.#runs.size === 0) break
      await this.#untilChanged()
    }
    if (this.#error) throw this.#error
  }

  /** Starts as many partitions as this worker may own now. */
  async #takePartitions(parts: RunParts, extra: number): Promise<void> {
    const { execution, positions, positionsName, leaseMs, worker, clock, isClaimed } = this.#parts
    const listed = isClaimed ? await positions.list(positionsName) : []
    const isFirst = !this.#isListed
    for (const { partition, done, source } of listed) if (done && source === parts.identity) this.#done.add(partition)
    await this.#list()
    if (isFirst) this.#refuseChangedSource(listed, parts.identity)
    if (!isClaimed) {
      for (const name of this.#left) if (!this.#runs.has(name)) this.#start(new PartitionRun(parts, name, undefined, 0))
      return
    }
    const states = new Map(listed.map((state) => [state.partition, state]))
    // Partitions of a stream do not end: a worker takes more and more of those that nobody has.
    const most = execution.parallelism + (execution.mode === 'streaming' ? extra : 0)
    for (const name of shuffled([...this.#left], parts.random)) {
      const state = states.get(name)
      const active = [...this.#runs.values()].filter(({ isWaiting }) => !isWaiting).length
      if (this.#runs.has(name) || state?.owner !== undefined || active >= most) continue
      const claimedAt = clock.monotonic()
      const claim = await positions.claim(positionsName, name, worker, leaseMs)
      if (claim === undefined) continue
      const begun = await this.#begin(claim, parts.identity)
      if (begun) this.#start(new PartitionRun(parts, name, begun, claimedAt), begun)
    }
  }

  /** Asks the source for its partitions, and gives up those that it no longer has. */
  async #list(): Promise<void> {
    const { source, execution, leaseMs } = this.#parts
    this.#isStale = false
    this.#names = await source.partitions(execution, { done: this.#done, changed: () => this.#relist() })
    this.#left = new Set(this.#names.filter((name) => !this.#done.has(name)))
    this.#isListed = true
    for (const run of this.#runs.values()) if (!this.#names.includes(run.partition)) run.revoke(leaseMs)
  }

  /** The list of partitions is no longer right. */
  #relist(): void {
    this.#isStale = true
    this.#wake()
  }

  /** A partition was read to its end. */
  #end(partition: string): void {
    this.#done.add(partition)
    this.#left.delete(partition)
  }

  /** A claim that is ready to be read from; undefined when there is nothing to read. */
  async #begin(claim: Claim, source: string | undefined): Promise<Claim | undefined> {
    const { positions } = this.#parts
    if (claim.source === source && !claim.done) return claim
    if (claim.source === source && claim.done) {
      this.#end(claim.partition)
      await positions.release(claim)
      return undefined
    }
    // Another file than the one that was read before, which was read to its end: it begins at the beginning.
    const next = claim.done ? undefined : claim.next
    return (await positions.save(claim, { next, done: false, source }))
      ? { ...claim, next, done: false, source }
      : undefined
  }

  #refuseChangedSource(listed: readonly PartitionState[], identity: string | undefined): void {
    const { positionsName } = this.#parts
    const states = new Map(listed.map((state) => [state.partition, state]))
    const isOld = (state: PartitionState): boolean =>
      state.source !== identity && (state.done || state.next !== undefined)
    const isOpen = (name: string): boolean => {
      const state = states.get(name)
      return state === undefined || (state.source !== identity && !state.done)
    }
    // A part that was read to its end is not read again while another of the same source is still to be read.
    const isHalf = this.#names.some(isOpen)
    const unfinished = listed.find(
      (state) => isOld(state) && (!state.done || (isHalf && this.#names.includes(state.partition))),
    )
    if (unfinished === undefined) return
    throw pipelineFailed(
      `the source of ${positionsName} has changed since partition ${unfinished.partition} was read up to ${unfinished.done ? 'its end' : unfinished.next}; ` +
        'finish with what it was, or give this load a name of its own with `run`',
    )
  }

  #start(run: PartitionRun, claim?: Claim): void {
    const { events } = this.#parts
    const { partition } = run
    this.#runs.set(partition, run)
    events.emit('claimed', { partition, epoch: claim?.epoch ?? 0, from: claim?.next })
    const end = (why: PipelineEvents['released']['why']): void => {
      if (why === 'done') this.#end(partition)
      if (why === 'done' && claim && claim.next === undefined) this.#readWhole += 1
      this.#runs.delete(partition)
      events.emit('released', { partition, why })
      this.#wake()
    }
    run.run().then(end, (error) => {
      this.#fail(error)
      end('failed')
    })
  }

  /** The run cannot go on; what other partitions have in hand is finished. */
  #fail(error: unknown): void {
    this.#error ??= error as Error
    this.#stop.abort(error)
  }

  /** Until a partition has ended, the run stops, or it is time to look again. */
  async #untilChanged(): Promise<void> {
    const { clock, leaseMs } = this.#parts
    if (this.#isStale) return
    const waiting = new AbortController()
    this.#wake = () => waiting.abort()
    await sleep(Math.min(lookMs, leaseMs / 3), clock, waiting.signal).catch(() => undefined)
  }

  /** It is tried again when it is next due. */
  #failedClaim(partition: string, error: unknown): void {
    const { counts, events, leaseMs } = this.#parts
    counts.failures += 1
    const retryInMs = Math.min(lookMs, leaseMs / 3)
    events.emit('failed', { partition, operation: 'claim', error, attempt: 0, retryInMs })
  }

  #renewAll(): void {
    const { source } = this.#parts
    for (const run of this.#runs.values()) {
      const { partition } = run
      run.renew().catch((error) => this.#failedClaim(partition, error))
      // A hint for people: nothing depends on it.
      source.lag?.(partition, run.stats().position).then(
        (lag) => {
          run.lag = lag
        },
        () => undefined,
      )
    }
  }
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = items.map((item) => ({ item, at: random() }))
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item)
}
