import type { Clock } from '../../core/clock.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { FlushMemory } from '../backoff/memory.ts'
import type { Capacity } from '../backoff/state.ts'
import { isNoSpace } from '../files/file-system.ts'
import type { Reserve } from '../log/reserve.ts'
import { eventId } from '../log/segment/segment-name.ts'
import type { StoredEvent } from '../log/segment/stored-event.ts'
import { OwnershipLost, type SegmentLog } from '../log/segment-log.ts'
import type { RejectedFile, Rejection } from '../rejected/rejected-file.ts'
import { type CapacityAnswer, messageOf, type SendAnswer } from './answers.ts'
import { type Delivered, type DeliverPorts, deliver, probeEvents, retryDelayMs } from './deliver.ts'
import type { ShipperEvents } from './events.ts'
import { type Flight, Flights } from './flights.ts'
import type { Transport } from './transport.ts'

/** How a pass ended. */
export type FlushOutcome =
  /** Everything that was pending when it began is shipped. */
  | 'drained'
  /** Everything that can be read is shipped; events in unreadable segments are still pending. */
  | 'unreadable'
  /** The next attempt is not due yet. */
  | 'waiting'
  | 'not-ready'
  | 'failed'
  /** Another process ships from this directory; it will send these events too. */
  | 'not-owner'
  /** Stopped by `close`. */
  | 'stopped'

export interface FlushReport {
  readonly outcome: FlushOutcome
  readonly sent: number
  readonly duplicates: number
  readonly rejected: number
  /** Events that are still pending. */
  readonly pending: number
  readonly nextAttemptInMs: number
  /** Why it failed, or which segment cannot be read. */
  readonly reason?: string
}

export interface FlushRunParts {
  readonly log: SegmentLog
  readonly memory: FlushMemory
  readonly transport: Transport
  readonly rejected: RejectedFile
  readonly reserve: Reserve
  readonly events: Emitter<ShipperEvents>
  readonly clock: Clock
  readonly maxBatchEvents: number
  readonly maxBatchBytes: number
  readonly maxRefusals: number
  readonly maxRetries: number
  readonly random: () => number
  readonly pending: () => number
  /** Aborted when no further batch should begin. */
  readonly stop: AbortSignal
  /** Aborted when the request in flight should end too. */
  readonly abort: AbortSignal
}

const askAgainEvery = 100

/**
 * One pass: checks whether an attempt is due, requests capacity, and sends batches until all is shipped, the server is
 * not ready, or something fails.
 */
export class FlushRun {
  readonly #parts: FlushRunParts
  #counts = { sent: 0, duplicates: 0, rejected: 0 }
  #reason: string | undefined
  #batchLimit: number
  readonly #flights: Flights

  constructor(parts: FlushRunParts) {
    this.#parts = parts
    this.#flights = new Flights(parts)
    this.#batchLimit = parts.maxBatchEvents
  }

  async run(): Promise<FlushReport> {
    const { memory, log, pending } = this.#parts
    let outcome: FlushOutcome
    try {
      await memory.load()
      outcome = memory.waitMs > 0 ? 'waiting' : await this.#flow()
      await this.#record(() => log.removeDone())
    } catch (error) {
      outcome = this.#faulted(error)
    }
    await this.#flights.settle()
    await log.rewind()
    // While waiting nothing has changed, and an operator may be resetting the state at this moment.
    if (outcome !== 'waiting') await this.#save()
    const reason = this.#reason === undefined ? {} : { reason: this.#reason }
    return { outcome, ...this.#counts, pending: pending(), nextAttemptInMs: memory.waitMs, ...reason }
  }

  async #save(): Promise<void> {
    const { memory, reserve, pending, events } = this.#parts
    try {
      await reserve.use(() => memory.save(pending(), true))
    } catch (error) {
      events.emit('storageFailed', { what: 'save the state', error })
    }
  }

  /**
   * Records progress. On a full disk that has to wait until segments are removed, for which they must be shipped: the
   * pass goes on, and after a crash these events are sent again.
   */
  async #record(step: () => Promise<void>): Promise<void> {
    const { reserve, events } = this.#parts
    try {
      await reserve.use(step)
    } catch (error) {
      if (!isNoSpace(error)) throw error
      events.emit('storageFailed', { what: 'record progress', error })
    }
  }

  async #flow(): Promise<FlushOutcome> {
    const { memory, stop } = this.#parts
    const flights = this.#flights
    let capacity: Capacity | undefined
    let sinceAsked = 0
    for (;;) {
      if (flights.isEmpty && stop.aborted) return 'stopped'
      const isDue = capacity === undefined || sinceAsked >= askAgainEvery * capacity.maxInFlight
      if (flights.isEmpty && isDue) {
        // Nothing is pending, so capacity is not needed.
        if (!(await this.#hasMore())) return this.#emptied()
        const answer = await this.#requestCapacity()
        if (typeof answer === 'string') return answer
        if (capacity === undefined) await this.#keepDistance(answer)
        capacity = answer
        sinceAsked = 0
        if (stop.aborted) return 'stopped'
      }
      if (flights.isEmpty || !(isDue || stop.aborted)) sinceAsked += await this.#fill(capacity!)
      const flight = flights.shift()
      if (flight === undefined) return stop.aborted ? 'stopped' : this.#emptied()
      const { stopped, sent, duplicates } = await this.#complete(flight, capacity!)
      if (stopped !== undefined) return this.#failed(stopped)
      // A batch that was only refused shows neither that the server works nor that it fails.
      if (sent + duplicates > 0) memory.apply({ kind: 'success' })
      await this.#record(() => memory.save(this.#parts.pending(), false))
      if (!(await this.#hasMore())) return this.#emptied()
      flights.completed()
    }
  }

  /** A server that refuses events, or whole batches, gets one at a time. */
  async #fill(capacity: Capacity): Promise<number> {
    const { memory, maxRefusals, maxBatchEvents } = this.#parts
    const limit = memory.refusalsInRow >= maxRefusals ? probeEvents : this.#batchLimit
    const isSteady = memory.refusalsInRow === 0 && this.#batchLimit === maxBatchEvents
    return this.#flights.fill(capacity, limit, isSteady)
  }

  /**
   * The delay also applies between the last batch of one pass and the first of the next, in whatever process that was.
   */
  async #keepDistance({ delayBetweenBatches }: Capacity): Promise<void> {
    const { memory, clock, stop } = this.#parts
    const { lastSuccessTime } = memory.state
    if (lastSuccessTime === null) return
    // A clock that was set back makes it look longer than it can be.
    const restMs = Math.min(delayBetweenBatches, lastSuccessTime + delayBetweenBatches - memory.nowMs)
    if (restMs > 0) await pause(restMs, clock, stop)
  }

  /** No more events can be taken. The result is `drained` only if all segments could be read. */
  #emptied(): FlushOutcome {
    const [unreadable] = this.#parts.log.unreadable
    if (unreadable === undefined) return 'drained'
    const [name, error] = unreadable
    this.#reason = `segment ${name} cannot be read: ${messageOf(error)}`
    return 'unreadable'
  }

  async #hasMore(): Promise<boolean> {
    await this.#record(() => this.#parts.log.removeDone())
    return this.#parts.log.hasMore
  }

  async #requestCapacity(): Promise<Capacity | FlushOutcome> {
    const { transport, memory, events, pending, abort } = this.#parts
    const answer: CapacityAnswer = await transport.capacity(pending(), abort)
    if (answer.kind !== 'capacity') return this.#failed(answer)
    const { capacity, retryAfterMs } = answer
    events.emit('capacityAnswered', { capacity })
    if (capacity.ready) {
      memory.apply({ kind: 'ready', capacity })
      return capacity
    }
    memory.apply({ kind: 'not-ready', capacity, retryAfterMs })
    return 'not-ready'
  }

  async #complete(flight: Flight, { delayBetweenBatches }: Capacity): Promise<Delivered> {
    const { transport, clock, events, pending, abort, stop, memory, maxRefusals, maxRetries, random } = this.#parts
    const ports: DeliverPorts = {
      send: (part) => flight.answer() ?? transport.send(part, abort),
      done: (part, rejections, refusalsInRow) => this.#done(part, rejections, refusalsInRow),
      async pause(retry) {
        await pause(retryDelayMs(retry, delayBetweenBatches, random), clock, stop)
        return !stop.aborted
      },
    }
    const outcome = await deliver(flight.events, ports, {
      refusalsInRow: memory.refusalsInRow,
      maxRefusals,
      maxRetries,
    })
    const { sent, duplicates, rejected } = outcome
    this.#counts.sent += sent
    this.#counts.duplicates += duplicates
    this.#counts.rejected += rejected
    this.#batchLimit = outcome.tooLarge
      ? Math.max(1, Math.floor(flight.events.length / 2))
      : Math.min(this.#parts.maxBatchEvents, this.#batchLimit * 2)
    events.emit('sent', {
      sent,
      duplicates,
      rejected,
      pending: pending(),
      tookMs: clock.monotonic() - flight.startedMs,
    })
    return outcome
  }

  /**
   * Counted first, then set aside, then recorded. A crash in between counts too many, or sets an event aside twice, but
   * never loses it or forgets a refusal.
   */
  async #done(part: readonly StoredEvent[], rejections: readonly Rejection[], refusalsInRow: number): Promise<void> {
    const { rejected, log, reserve, memory, events, pending } = this.#parts
    if (refusalsInRow !== memory.refusalsInRow) memory.apply({ kind: 'refused', inRow: refusalsInRow })
    if (rejections.length > 0) {
      if (refusalsInRow > 0) await reserve.use(() => memory.save(pending(), true))
      await reserve.use(() => rejected.add(rejections, memory.nowMs))
    }
    await this.#record(() => log.shipped(part))
    for (const { event, reason } of rejections) {
      events.emit('rejected', { id: eventId(event.producer, event.seq), reason })
    }
  }

  #failed(answer: Exclude<SendAnswer, { kind: 'accepted' }>): 'failed' {
    const { memory, events } = this.#parts
    memory.apply(answer.kind === 'overloaded' ? answer : { kind: 'failure' })
    this.#reason = answer.reason
    if (answer.kind === 'turned-away') events.emit('turnedAway', { reason: answer.reason })
    const { backoffLevel } = memory.state
    events.emit('failed', { reason: answer.reason, backoffLevel, nextAttemptInMs: memory.waitMs })
    return 'failed'
  }

  #faulted(error: unknown): FlushOutcome {
    if (error instanceof OwnershipLost) return 'not-owner'
    this.#reason = messageOf(error)
    this.#parts.events.emit('storageFailed', { what: 'flush', error })
    return this.#failed({ kind: 'failed', reason: this.#reason })
  }
}

/** Ends early, without an error, when no further batch should begin. */
const pause = (ms: number, clock: Clock, stop: AbortSignal): Promise<void> => sleep(ms, clock, stop).catch(() => {})
