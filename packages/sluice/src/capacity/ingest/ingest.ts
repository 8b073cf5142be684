import type { Clock } from '../../core/clock.ts'
import { Emitter } from '../../core/observe/emitter.ts'
import {
  type CloseOptions,
  closeInTime,
  closeWithinMs,
  HealthQuestion,
  type Part,
  type PartHealth,
} from '../../runtime/part.ts'
import { type IngestEvents, ingestEventNames } from './events.ts'
import { type IncomingEvent, readBatch } from './read-batch.ts'
import type { SeenIds } from './seen-ids.ts'

/** Of how many batches it is remembered whether they were stored. */
const mostBatches = 10_000

/**
 * Keeps batches in order when a sender has several in flight: each names the last event of the batch before it. Only
 * those of this process are known; of any other the order cannot be kept, and the sender has to send it again.
 */
class BatchOrder {
  /** By the id of their last event, in the order of arrival: whether they were stored, as soon as that is known. */
  readonly #batches = new Map<string, Promise<boolean>>()

  /** Stores a batch after the one that ends with `after`; undefined, and nothing is stored, if that one was not. */
  async run<T>(
    after: string | undefined,
    last: string | undefined,
    store: () => Promise<T>,
    isStored: (result: T) => boolean,
  ): Promise<T | undefined> {
    const former = after === undefined ? Promise.resolve(true) : this.#batches.get(after)
    const result = (async () => ((await former) === true ? store() : undefined))()
    if (last !== undefined) {
      this.#batches.delete(last)
      const stored = result.then((value) => value !== undefined && isStored(value))
      this.#batches.set(
        last,
        stored.catch(() => false),
      )
      if (this.#batches.size > mostBatches) this.#batches.delete(this.#batches.keys().next().value!)
    }
    return result
  }
}

/** Stores events; its result may refuse some permanently, by id. */
export type Accept = (
  events: readonly IncomingEvent[],
) => void | Promise<void> | Promise<{ readonly rejected: ReadonlyMap<string, string> }>

/** The result for one event. */
export interface EventResult {
  readonly id: string
  readonly status: 'ok' | 'duplicate' | 'retry' | 'rejected'
  readonly reason?: string
}

/** An answer to a batch, for any framework. */
export interface IngestAnswer {
  readonly status: number
  readonly body: { readonly results: readonly EventResult[] } | { readonly error: string }
}

export interface IngestStats {
  readonly accepted: number
  readonly duplicates: number
  readonly retried: number
  readonly rejected: number
  readonly malformed: number
}

/** The receiving end of shippers: accepts batches, drops duplicates, and answers for each event. */
export interface Ingest extends Part<IngestEvents> {
  /** Processes the parsed body of a batch. */
  receive(body: unknown): Promise<IngestAnswer>
  stats(): IngestStats
  /** Ready while ids can be remembered. */
  health(): Promise<PartHealth>
  /** Answers further batches by 503, and waits for those that are being stored; for 5 s by default. */
  close(options?: CloseOptions): Promise<void>
}

export interface IngestParts {
  readonly accept: Accept
  readonly ids: SeenIds
  readonly clock: Clock
  readonly onClose: () => Promise<void>
}

export class BatchIngest implements Ingest {
  readonly #parts: IngestParts
  readonly #events = new Emitter<IngestEvents>(ingestEventNames)
  readonly #counts = { accepted: 0, duplicates: 0, retried: 0, rejected: 0, malformed: 0 }
  readonly #inFlight = new Set<Promise<unknown>>()
  readonly #order = new BatchOrder()
  readonly #reachable: HealthQuestion<boolean>
  #closing: Promise<void> | undefined

  constructor(parts: IngestParts) {
    this.#parts = parts
    const { ids, clock } = parts
    this.#reachable = new HealthQuestion(async (withinMs) => (await ids.isReachable?.(withinMs)) ?? true, clock)
  }

  async receive(body: unknown): Promise<IngestAnswer> {
    if (this.#closing !== undefined) return { status: 503, body: { error: 'the server is closing; send them again' } }
    const work = this.#receive(body)
    this.#inFlight.add(work)
    try {
      return await work
    } finally {
      this.#inFlight.delete(work)
    }
  }

  stats(): IngestStats {
    return { ...this.#counts }
  }

  on<Name extends keyof IngestEvents>(name: Name, listener: (event: IngestEvents[Name]) => void): () => void {
    return this.#events.on(name, listener)
  }

  async health(): Promise<PartHealth> {
    if (this.#closing !== undefined) return { ready: false, reasons: ['The ingest is closed.'], warnings: [] }
    const isReady = await this.#reachable.answer()
    const reasons = isReady
      ? []
      : ['Redis, which remembers the ids of events, does not answer; batches are answered by 503.']
    return { ready: isReady, reasons, warnings: [] }
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const withinMs = closeWithinMs('ingest.close', options) ?? 5000
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** What is stored, but not remembered, would be stored twice. */
  async #close(withinMs: number): Promise<void> {
    const { ids, clock, onClose } = this.#parts
    await closeInTime(withinMs, clock)(Promise.allSettled(this.#inFlight))
    await onClose()
    await ids.close()
  }

  async #receive(body: unknown): Promise<IngestAnswer> {
    const events = readBatch(body)
    if (typeof events === 'string') {
      this.#counts.malformed++
      this.#events.emit('refused', { reason: events })
      return { status: 400, body: { error: events } }
    }
    const after = (body as { after?: unknown }).after
    const answer = await this.#order.run(
      typeof after === 'string' ? after : undefined,
      events.at(-1)?.id,
      () => this.#store(events),
      ({ status }) => status === 200,
    )
    if (answer !== undefined) return answer
    const results = events.map(({ id }) => ({ id, status: 'retry' as const, reason: 'the batch before it is missing' }))
    this.#count(results)
    return { status: 200, body: { results } }
  }

  async #store(events: readonly IncomingEvent[]): Promise<IngestAnswer> {
    let results: readonly EventResult[]
    try {
      results = await this.#take(events)
    } catch (error) {
      const refusal = refusalIn(error)
      if (refusal !== undefined) {
        this.#events.emit('refused', { reason: refusal.body.error })
        return refusal
      }
      // Nothing is lost: the shipper keeps the batch and sends it again.
      this.#counts.retried += events.length
      this.#events.emit('failed', { events: events.length, error })
      return { status: 503, body: { error: 'the events could not be stored; send them again' } }
    }
    this.#count(results)
    return { status: 200, body: { results } }
  }

  async #take(events: readonly IncomingEvent[]): Promise<readonly EventResult[]> {
    const { ids, accept } = this.#parts
    // One that is there twice is taken once.
    const byId = new Map(events.map((event) => [event.id, event]))
    const names = [...byId.keys()]
    const claims = await ids.claim(names)
    const seen = new Map(names.map((id, i) => [id, claims[i]]))
    const freshIds = names.filter((id) => seen.get(id) === 'new')
    const fresh = freshIds.map((id) => byId.get(id)!)
    let rejected: ReadonlyMap<string, string> = new Map()
    try {
      // Whoever takes them may have died, and its claim lasts a minute: longer than a shipper asks again for single
      // events before it sets them aside. A server that fails is waited for.
      if (claims.includes('pending')) throw new Error('events of the batch are being taken in already')
      if (fresh.length > 0) rejected = (await accept(fresh))?.rejected ?? rejected
      const [taken, refused] = [freshIds.filter((id) => !rejected.has(id)), freshIds.filter((id) => rejected.has(id))]
      if (taken.length > 0) await ids.finish(taken)
      // Refused events are not stored anywhere: an operator may send them again once the cause is fixed.
      if (refused.length > 0) await ids.release(refused)
    } catch (error) {
      await ids.release(freshIds).catch(() => {})
      throw error
    }
    return events.map(({ id }): EventResult => {
      if (seen.get(id) === 'done') return { id, status: 'duplicate' }
      const reason = rejected.get(id)
      return reason === undefined ? { id, status: 'ok' } : { id, status: 'rejected', reason }
    })
  }

  #count(results: readonly EventResult[]): void {
    const received = { accepted: 0, duplicates: 0, retried: 0, rejected: 0 }
    for (const { status } of results) received[countOf[status]]++
    for (const [name, count] of Object.entries(received)) this.#counts[name as keyof typeof received] += count
    this.#events.emit('received', received)
  }
}

const countOf = { ok: 'accepted', duplicate: 'duplicates', retry: 'retried', rejected: 'rejected' } as const

/**
 * An error with a status such as 400 or 413 means that the batch would be refused again: it is passed on to the
 * shipper, which then finds the event at fault.
 */
function refusalIn(error: unknown): (IngestAnswer & { readonly body: { readonly error: string } }) | undefined {
  const { status, message } = (error ?? {}) as { status?: unknown; message?: unknown }
  if (status !== 400 && status !== 413 && status !== 422) return undefined
  return { status, body: { error: String(message) } }
}
