import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption, SluiceError } from '../core/errors.ts'
import { decodeKey, encodeKey } from '../core/key.ts'
import { Emitter } from '../core/observe/emitter.ts'
import type { Redis } from '../redis/redis.ts'
import { type CloseOptions, closeWithinMs, HealthQuestion, type PartHealth } from '../runtime/part.ts'
import {
  type Freshness,
  type FreshnessEvents,
  type FreshnessStats,
  freshnessEventNames,
  type SourceFreshness,
} from './freshness.ts'
import { readReports, report } from './scripts.gen.ts'

export interface RedisFreshnessOptions {
  readonly key: string
  readonly sources: readonly string[]
  readonly redisDeadlineMs: number
  readonly release: () => Promise<void>
}

/** The reports of producers, in one hash in Redis. */
export class RedisFreshness implements Freshness {
  readonly #redis: Redis
  readonly #options: RedisFreshnessOptions
  readonly #events = new Emitter<FreshnessEvents>(freshnessEventNames)
  readonly #sources: HealthQuestion<readonly SourceFreshness[] | undefined>
  readonly #stats = { reports: 0, reads: 0, failures: 0 }
  #closing: Promise<void> | undefined

  constructor(redis: Redis, options: RedisFreshnessOptions) {
    this.#redis = redis
    this.#options = options
    const read = (withinMs: number): Promise<SourceFreshness[] | undefined> =>
      this.#read(withinMs).catch(() => undefined)
    this.#sources = new HealthQuestion(read, redis.clock)
  }

  async report(source: string, ttl: Duration): Promise<void> {
    checkSource('report', source)
    const ttlMs = parseDuration(ttl, 'report ttl')
    const args = [encodeKey(source), String(ttlMs * 1000)]
    const { key, redisDeadlineMs: withinMs } = this.#options
    await this.#send('report', () => this.#redis.runScript({ script: report, keys: [key], args, withinMs }))
    this.#stats.reports += 1
    this.#events.emit('reported', { source, ttlMs })
  }

  async read(): Promise<SourceFreshness[]> {
    const sources = await this.#send('read', () => this.#read(this.#options.redisDeadlineMs))
    this.#stats.reads += 1
    return sources
  }

  async forget(source: string): Promise<void> {
    checkSource('forget', source)
    const { key, redisDeadlineMs: withinMs } = this.#options
    await this.#send('forget', () => this.#redis.command(['HDEL', key, encodeKey(source)], { key, withinMs }))
  }

  on<Name extends keyof FreshnessEvents>(name: Name, listener: (event: FreshnessEvents[Name]) => void): () => void {
    return this.#events.on(name, listener)
  }

  stats(): FreshnessStats {
    return { ...this.#stats }
  }

  /** A producer that is late is no reason to stop serving what is there. */
  async health(): Promise<PartHealth> {
    if (this.#closing) return { ready: false, reasons: ['The freshness is closed.'], warnings: [] }
    const sources = await this.#sources.answer()
    if (sources === undefined) return { ready: false, reasons: ['Redis does not answer.'], warnings: [] }
    const warnings = sources.filter(({ stale }) => stale).map(warningOf)
    return { ready: true, reasons: [], warnings }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(options: CloseOptions = {}): Promise<void> {
    closeWithinMs('freshness.close', options)
    this.#closing ??= this.#options.release()
    return this.#closing
  }

  async #send<T>(operation: FreshnessEvents['failed']['operation'], call: () => Promise<T>): Promise<T> {
    if (this.#closing)
      throw new SluiceError('SLUICE_CLOSED', 'The freshness is closed; make a new one with createFreshness.')
    try {
      return await call()
    } catch (error) {
      this.#stats.failures += 1
      this.#events.emit('failed', { operation, error })
      throw error
    }
  }

  async #read(withinMs: number): Promise<SourceFreshness[]> {
    const { key, sources } = this.#options
    const { reply, nowUs } = await this.#redis.runScript({ script: readReports, keys: [key], withinMs })
    const flat = reply.read() as string[]
    const found = new Map<string, SourceFreshness>()
    for (const source of sources) found.set(source, { source, stale: true, staleMs: Infinity, ageMs: Infinity })
    for (let i = 0; i < flat.length; i += 2) {
      const source = String(decodeKey(flat[i]!)[0])
      found.set(source, freshnessOf(source, flat[i + 1]!, nowUs))
    }
    return [...found.values()].sort((a, b) => (a.source < b.source ? -1 : 1))
  }
}

function checkSource(call: string, source: unknown): void {
  if (typeof source !== 'string' || source === '') throw invalidOption(`${call} source`, source, 'use a name')
}

function freshnessOf(source: string, text: string, nowUs: number): SourceFreshness {
  const [reportedUs = 0, untilUs = 0] = text.split(' ').map(Number)
  const staleMs = Math.max(0, (nowUs - untilUs) / 1000)
  return { source, stale: staleMs > 0, staleMs, ageMs: Math.max(0, (nowUs - reportedUs) / 1000) }
}

function warningOf({ source, staleMs }: SourceFreshness): string {
  return staleMs === Infinity
    ? `The data source ${source} has never reported.`
    : `The data source ${source} has been stale for ${Math.round(staleMs / 1000)} s.`
}
