import { checkFunction, checkOptionNames, checkWhole } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import type { RedisHandle } from '../../redis/handle.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { memoryIds } from './memory-ids.ts'
import { type IncomingEvent, readBatch } from './read-batch.ts'
import { redisIds } from './redis-ids.ts'
import type { SeenIds } from './seen-ids.ts'

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

export interface IngestOptions {
  /**
   * Stores new events, each once. Its result may refuse some permanently, by id; when it rejects, the whole batch is
   * sent again. An error with the `status` 400, 413 or 422 is passed on: the shipper then splits the batch down to the
   * event at fault.
   */
  readonly accept: (
    events: readonly IncomingEvent[],
  ) => void | Promise<void> | Promise<{ readonly rejected: ReadonlyMap<string, string> }>
  /** Where ids are remembered for all collectors of the service; in this process when left out. */
  readonly redis?: RedisHandle
  /** Where ids are remembered, if neither in Redis nor in this process. */
  readonly ids?: SeenIds
  /** In Redis: how long a producer is remembered after its last event. One day by default. */
  readonly ttl?: Duration
  /** In process: of how many producers ids are remembered. 10,000 by default. */
  readonly maxProducers?: number
  readonly clock?: Clock
}

export interface IngestStats {
  readonly accepted: number
  readonly duplicates: number
  readonly retried: number
  readonly rejected: number
  readonly malformed: number
}

/** The receiving end of shippers: accepts batches, drops duplicates, and answers for each event. */
export interface Ingest {
  /** Processes the parsed body of a batch. */
  receive(body: unknown): Promise<IngestAnswer>
  stats(): IngestStats
  close(): Promise<void>
}

/**
 * Makes an ingest.
 *
 * @example
 * const ingest = await createIngest({ accept: (events) => database.insert(events) })
 * app.post('/v1/events', async (request, response) => {
 *   const { status, body } = await ingest.receive(request.body)
 *   response.status(status).json(body)
 * })
 */
export async function createIngest(options: IngestOptions): Promise<Ingest> {
  checkOptionNames('createIngest', options, ['accept', 'redis', 'ids', 'ttl', 'maxProducers', 'clock'])
  checkFunction('createIngest.accept', options.accept)
  if (options.accept === undefined)
    throw invalidOption('createIngest.accept', undefined, 'pass a function that takes events')
  const { maxProducers = 10_000 } = options
  checkWhole('createIngest.maxProducers', maxProducers, 1, 'producers')
  const ttlMs = parseDuration(options.ttl ?? '1d', 'createIngest.ttl')
  const ids =
    options.ids ??
    (options.redis ? redisIds(options.redis, ttlMs) : memoryIds(options.clock ?? systemClock(), maxProducers))
  const counts = { accepted: 0, duplicates: 0, retried: 0, rejected: 0, malformed: 0 }

  async function take(events: readonly IncomingEvent[]): Promise<readonly EventResult[]> {
    const names = events.map(({ id }) => id)
    const seen = await ids.claim(names)
    const fresh = events.filter((_, i) => seen[i] === 'new')
    const freshIds = fresh.map(({ id }) => id)
    let rejected: ReadonlyMap<string, string> = new Map()
    try {
      if (fresh.length > 0) rejected = (await options.accept(fresh))?.rejected ?? rejected
      const taken = freshIds.filter((id) => !rejected.has(id))
      if (taken.length > 0) await ids.finish(taken)
      // Refused events are not stored anywhere: an operator may send them again once the cause is fixed.
      if (taken.length < freshIds.length) await ids.release([...rejected.keys()])
    } catch (error) {
      await ids.release(freshIds).catch(() => {})
      throw error
    }
    return names.map((id, i): EventResult => {
      if (seen[i] === 'done') return { id, status: 'duplicate' }
      if (seen[i] === 'pending') return { id, status: 'retry', reason: 'it is being taken in already' }
      const reason = rejected.get(id)
      return reason === undefined ? { id, status: 'ok' } : { id, status: 'rejected', reason }
    })
  }

  return {
    async receive(body) {
      const events = readBatch(body)
      if (typeof events === 'string') {
        counts.malformed++
        return { status: 400, body: { error: events } }
      }
      let results: readonly EventResult[]
      try {
        results = await take(events)
      } catch (error) {
        const refusal = refusalIn(error)
        if (refusal !== undefined) return refusal
        // Nothing is lost: the shipper keeps the batch and sends it again.
        counts.retried += events.length
        return { status: 503, body: { error: 'the events could not be stored; send them again' } }
      }
      for (const { status } of results) {
        if (status === 'ok') counts.accepted++
        else if (status === 'duplicate') counts.duplicates++
        else if (status === 'retry') counts.retried++
        else counts.rejected++
      }
      return { status: 200, body: { results } }
    },
    stats: () => ({ ...counts }),
    close: () => ids.close(),
  }
}

/**
 * An error with a status such as 400 or 413 means that the batch would be refused again: it is passed on to the
 * shipper, which then finds the event at fault.
 */
function refusalIn(error: unknown): IngestAnswer | undefined {
  const { status, message } = (error ?? {}) as { status?: unknown; message?: unknown }
  if (status !== 400 && status !== 413 && status !== 422) return undefined
  return { status, body: { error: String(message) } }
}
