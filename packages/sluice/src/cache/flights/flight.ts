import { SluiceError } from '../../core/errors.ts'
import type { Fetch } from '../cache.ts'
import type { CacheKey } from '../keys/cache-key.ts'
import type { EntryRules } from '../keys/key-spec.ts'
import type { CacheCore } from '../lookup/cache-core.ts'
import type { Moment, Position } from '../protocol/messages.ts'

/** The result of a fetch, with what is needed to judge and keep it. */
export interface Fetched {
  readonly value: unknown
  readonly tookMs: number
  /** When it began: data younger than D needs no other proof. */
  readonly beganAt: Moment
  /** The position of the view when it began. */
  readonly stamp: Position | undefined
}

/** One lookup below the first level, shared by all callers of the key meanwhile. */
export interface Flight {
  readonly key: CacheKey
  readonly fetch: Fetch<unknown>
  readonly rules: EntryRules | undefined
  /** Set once the data is being read; after an invalidation since then, new callers start another flight. */
  stamp: Position | undefined
  /** Set by an invalidation that is in no log. */
  dead: boolean
}

/** Runs a fetch with its own deadline and signal, when it may start. */
export async function runFetch(core: CacheCore, flight: Flight, afterInvalidation: boolean): Promise<Fetched> {
  const { clock, options, count, events } = core
  const { name } = flight.key.spec
  const gate = core.gate(name)
  if (!(await gate.enter())) {
    count.refusedFetches += 1
    events.emit('refused', { name })
    throw new SluiceError(
      'SLUICE_CACHE_BUSY',
      `${options.maxFetches} fetches of ${name} are under way and none ended within ${options.queueDeadlineMs} ms`,
      { transient: true },
    )
  }
  if (core.isClosed) {
    gate.leave()
    throw new SluiceError('SLUICE_CLOSED', 'the cache was closed before the fetch began')
  }
  const controller = new AbortController()
  core.fetching.add(controller)
  // The stamp is taken before the data is read: any invalidation from here on may concern the data.
  const stamp = core.view.position
  const beganAt = core.moment()
  flight.stamp = stamp
  flight.dead = false
  const timer = clock.setTimeout(() => {
    const text = `the fetch of ${name} took longer than ${options.fetchDeadlineMs} ms`
    controller.abort(new SluiceError('SLUICE_FETCH_TIMEOUT', text, { transient: true }))
  }, options.fetchDeadlineMs)
  // A fetch that ignores its signal is no longer awaited.
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true })
  })
  count.fetches += 1
  let failure: unknown
  try {
    const work = (async () => flight.fetch({ signal: controller.signal, afterInvalidation }))()
    const value = await Promise.race([work, aborted])
    return { value, tookMs: clock.monotonic() - beganAt.monotonicMs, beganAt, stamp }
  } catch (error) {
    failure = error
    count.fetchErrors += 1
    throw error
  } finally {
    clock.clearTimeout(timer)
    core.fetching.delete(controller)
    gate.leave()
    if (events.has('fetch')) {
      events.emit('fetch', { name, tookMs: clock.monotonic() - beganAt.monotonicMs, error: failure })
    }
  }
}
