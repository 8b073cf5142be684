import { checkFunction, checkOptionNames, checkWhole } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import type { RedisHandle } from '../../redis/handle.ts'
import { reportPart } from '../../redis/report-part.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { type Accept, BatchIngest, type Ingest } from './ingest.ts'
import { memoryIds } from './memory-ids.ts'
import { redisIds } from './redis-ids.ts'
import type { SeenIds } from './seen-ids.ts'

export interface IngestOptions {
  /**
   * Stores new events, each once. Its result may refuse some permanently, by id; when it rejects, the whole batch is
   * sent again. An error with the `status` 400, 413 or 422 is passed on: the shipper then splits the batch down to the
   * event at fault.
   */
  readonly accept: Accept
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
  const { accept, redis, maxProducers = 10_000, clock = systemClock() } = options
  checkFunction('createIngest.accept', accept)
  if (accept === undefined) throw invalidOption('createIngest.accept', undefined, 'pass a function that takes events')
  checkWhole('createIngest.maxProducers', maxProducers, 1, 'producers')
  const ttlMs = parseDuration(options.ttl ?? '1d', 'createIngest.ttl')
  const ids = options.ids ?? (redis ? redisIds(redis, ttlMs) : memoryIds(clock, maxProducers))
  const onClose = (): Promise<void> => endReport()
  const ingest = new BatchIngest({ accept, ids, clock, onClose })
  const endReport = reportPart(redis, { kind: 'ingest', name: 'default', stats: () => ingest.stats() })
  return ingest
}
