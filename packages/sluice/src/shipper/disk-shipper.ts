import { Emitter } from '../core/observe/emitter.ts'
import { type CloseOptions, closeWithinMs, type PartHealth } from '../runtime/part.ts'
import { FlushMemory } from './backoff/memory.ts'
import { StateFile } from './backoff/state-file.ts'
import { Counts } from './counts.ts'
import { messageOf } from './flush/answers.ts'
import { type ShipperEvents, shipperEventNames } from './flush/events.ts'
import { type FlushReport, FlushRun } from './flush/flush-run.ts'
import { FlushLoop } from './flush/loop.ts'
import type { Transport } from './flush/transport.ts'
import { LastFailures } from './health.ts'
import { Room } from './log/room.ts'
import { Writer } from './log/writer.ts'
import type { ResolvedShipperOptions } from './options.ts'
import { OwnedBuffer } from './owned-buffer.ts'
import { toPayload } from './payload.ts'
import type { CloseReport, Shipper, ShipperStats } from './shipper.ts'

/** The most that may be pending in memory for a disk that does not keep up. */
const maxWaitingBytes = 64 << 20

/** A shipper on a directory: its own writer, and the role of the owner if no other process has it. */
export class DiskShipper implements Shipper {
  readonly #options: ResolvedShipperOptions
  readonly #events = new Emitter<ShipperEvents>(shipperEventNames)
  readonly #counts: Counts
  readonly #failures: LastFailures
  readonly #onClose: () => void
  readonly #room: Room
  readonly #writer: Writer
  readonly #buffer: OwnedBuffer
  readonly #memory: FlushMemory
  readonly #transport: Transport
  readonly #loop: FlushLoop
  readonly #stop = new AbortController()
  readonly #abort = new AbortController()
  /** How many events were pending when `stored` of this process had been counted. */
  #counted: { readonly pending: () => number; readonly stored: number } = { pending: () => 0, stored: 0 }
  /** What to report once the caller of `createShipper` can have listeners; undefined when it has started. */
  #atStart: (() => void)[] | undefined = []
  #ending: Promise<CloseReport> | undefined

  constructor(
    options: ResolvedShipperOptions,
    transport: (onGzipRefused: () => void) => Transport,
    onClose: () => void = () => {},
  ) {
    this.#options = options
    this.#onClose = onClose
    const { fs, dir, clock, backoff, random } = options
    const events = this.#events
    this.#counts = new Counts(events, clock)
    this.#failures = new LastFailures(events)
    this.#buffer = new OwnedBuffer({ ...options, emit: (name, event) => this.#emit(name, event) })
    this.#room = new Room({
      ...options,
      dropOldest: () => this.#dropOldest(),
      onChange: (isFull) => events.emit('fullChanged', { isFull }),
    })
    this.#writer = new Writer({
      ...options,
      maxWaitingBytes,
      makeRoom: (...wanted) => this.#room.make(...wanted),
      onWritten: (bytes, count, grownBytes) => {
        this.#room.written(grownBytes)
        events.emit('stored', { events: count, bytes })
      },
      onRefused: (count, code) => events.emit('refused', { events: count, code }),
      onFailure: (error, what) => events.emit('storageFailed', { what, error }),
    })
    const stateFile = new StateFile(fs, dir, (savedAs) => this.#emit('stateDamaged', { savedAs }))
    this.#memory = new FlushMemory(stateFile, backoff, clock, random, (state) =>
      this.#emit('breakerChanged', { state }),
    )
    this.#transport = transport(() => events.emit('gzipRefused', {}))
    this.#loop = new FlushLoop(clock, options.flushIntervalMs, () => this.#pass())
  }

  async start(): Promise<void> {
    await this.#memory.load()
    // Neither a full disk nor a damaged file prevents the service from starting.
    await this.#refresh().catch((error) => this.#emit('storageFailed', { what: 'start', error }))
    const happened = this.#atStart ?? []
    this.#atStart = undefined
    setImmediate(() => {
      for (const report of happened) report()
    })
    this.#loop.start()
  }

  /** What happens while it starts is reported a turn after that, however long the disk takes. */
  #emit<Name extends keyof ShipperEvents>(name: Name, event: ShipperEvents[Name]): void {
    if (this.#atStart === undefined) this.#events.emit(name, event)
    else this.#atStart.push(() => this.#events.emit(name, event))
  }

  ship(event: unknown): Promise<string> {
    const payload = toPayload(event, this.#options.maxEventBytes)
    if (typeof payload === 'string') return this.#writer.append(payload)
    this.#events.emit('refused', { events: 1, code: payload.code })
    return Promise.reject(payload)
  }

  async flush(): Promise<FlushReport> {
    // After `close` it must not become the owner again.
    return this.#ending === undefined ? this.#loop.run() : this.#report('stopped')
  }

  on<Name extends keyof ShipperEvents>(name: Name, listener: (event: ShipperEvents[Name]) => void): () => void {
    return this.#events.on(name, listener)
  }

  stats(): ShipperStats {
    const { clock, maxBytes } = this.#options
    const { state } = this.#memory
    const log = this.#buffer.present?.log
    const counts = this.#counts
    const nowMs = clock.monotonic()
    const [inPerSecond, outPerSecond] = [counts.inRate.perSecond(nowMs), counts.outRate.perSecond(nowMs)]
    const bytesPerEvent = counts.all.stored === 0 ? 0 : counts.storedBytes / counts.all.stored
    const growth = (inPerSecond - outPerSecond) * bytesPerEvent
    const hasLimit = maxBytes !== Infinity || this.#options.minFreeBytes > 0
    const oldestMs = log?.oldestMs
    return {
      producer: this.#writer.producer,
      isOwner: log !== undefined,
      pending: this.#pending(),
      oldestAgeMs: oldestMs === undefined ? 0 : Math.max(0, this.#memory.nowMs - oldestMs),
      bytesOnDisk: this.#room.usedBytes,
      backoffLevel: state.backoffLevel,
      breaker: this.#memory.breaker,
      nextAttemptInMs: this.#memory.waitMs,
      consecutiveFailures: state.consecutiveFailures,
      lastSuccessTime: state.lastSuccessTime,
      lastCapacity: state.lastCapacity,
      ...counts.all,
      isFull: this.#room.isFull,
      inPerSecond,
      outPerSecond,
      timeToFullMs: hasLimit && growth > 0 ? (this.#room.leftBytes / growth) * 1000 : null,
    }
  }

  async health(): Promise<PartHealth> {
    return this.#failures.health(this.stats(), this.#options.onFull, this.#ending !== undefined)
  }

  async close(options: CloseOptions = {}): Promise<CloseReport> {
    const withinMs = closeWithinMs('shipper.close', options) ?? 0
    this.#ending ??= this.#close(withinMs)
    return this.#ending
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(withinMs: number): Promise<CloseReport> {
    const { clock } = this.#options
    const endMs = clock.monotonic() + withinMs
    this.#onClose()
    this.#room.close()
    await this.#writer.close()
    if (withinMs > 0) await this.#drainUntil(endMs)
    this.#stop.abort()
    await this.#loop.close()
    const report = { pending: this.#pending(), bytesOnDisk: this.#room.usedBytes }
    await this.#buffer.release()
    return report
  }

  /**
   * Runs passes until nothing is left, the server does not accept more, or the time is up; then the batch in flight is
   * aborted.
   */
  async #drainUntil(endMs: number): Promise<void> {
    const { clock } = this.#options
    const timer = clock.setTimeout(
      () => {
        this.#stop.abort()
        this.#abort.abort(new Error('the time to drain is up'))
      },
      Math.max(0, endMs - clock.monotonic()),
    )
    await this.#loop.run()
    clock.clearTimeout(timer)
  }

  async #pass(): Promise<FlushReport> {
    let owned: OwnedBuffer['present']
    try {
      owned = await this.#refresh()
    } catch (error) {
      this.#events.emit('storageFailed', { what: 'look at the directory', error })
      return { ...this.#report('failed'), reason: messageOf(error) }
    }
    if (owned === undefined) return this.#report('not-owner')
    const report = await new FlushRun({
      ...this.#options,
      ...owned,
      memory: this.#memory,
      transport: this.#transport,
      events: this.#events,
      pending: () => this.#pending(),
      stop: this.#stop.signal,
      abort: this.#abort.signal,
    }).run()
    await owned.reserve.refill()
    this.#room.known(owned.log.bytes)
    return report
  }

  /** The report of a pass that did nothing. */
  #report(outcome: FlushReport['outcome']): FlushReport {
    const { waitMs } = this.#memory
    return { outcome, sent: 0, duplicates: 0, rejected: 0, pending: this.#pending(), nextAttemptInMs: waitMs }
  }

  /**
   * Becomes the owner if there is none, and reads what is in the directory. A process that is not the owner seals its
   * segment, so that the owner can ship it.
   */
  async #refresh(): Promise<OwnedBuffer['present']> {
    const owned = await this.#buffer.acquire()
    if (owned === undefined) await this.#writer.seal()
    else {
      const [pending, { stored }] = [this.#pending(), this.#counts.all]
      // Until it is done, the log contains only a part of what it is about to count.
      this.#counted = { pending: () => pending, stored }
      try {
        await owned.log.refresh(this.#writer.active)
      } finally {
        this.#counted = { pending: () => this.#buffer.present?.log.pending ?? 0, stored }
      }
      this.#room.known(owned.log.bytes)
    }
    return owned
  }

  /** What the log contained at its last refresh, and what this process has stored since. */
  #pending(): number {
    return this.#counted.pending() + this.#counts.all.stored - this.#counted.stored
  }

  async #dropOldest(): Promise<boolean> {
    const owned = await this.#refresh()
    const dropped = await owned?.log.dropOldest()
    if (dropped === undefined) return false
    const toMs = owned?.log.oldestMs ?? this.#memory.nowMs
    if (dropped.pending > 0) this.#events.emit('dropped', { events: dropped.pending, fromMs: dropped.shippedMs, toMs })
    return true
  }
}
