import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { checkOptionNames } from '../core/check-options.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { invalidOption } from '../core/errors.ts'
import { Emitter } from '../core/observe/emitter.ts'
import type { PartKind, ReportPart } from '../core/observe/report.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { buildReport, type Reporting } from './build-report.ts'
import type { ReportDestination } from './destination.ts'

export interface ReportsOptions {
  /** Whose reports these are: the service of the policy. */
  readonly service: string
  /** Where they go: `redisReports(redis)`, or `daemonReports(url, { token })` where there is no Redis. */
  readonly to: ReportDestination
  readonly parts: readonly ReportPart[]
  /** How often; every 2 s by default. Reports are forgotten after 10 s. */
  readonly intervalMs?: number
  /** Time, for tests. */
  readonly clock?: Clock
}

export interface ReportEvents {
  /** A report did not arrive. The next one is sent all the same. */
  failed: { readonly error: Error }
  sent: { readonly bytes: number }
}

/** Reports of one process. */
export interface Reports {
  /** This process in the reports. */
  readonly replica: string
  /** Adds a part that came later; the returned function removes it. */
  add(part: ReportPart): () => void
  /** Sends a report now, unless one is in flight. Never rejects. */
  send(): Promise<void>
  on<Name extends keyof ReportEvents>(name: Name, listener: (event: ReportEvents[Name]) => void): () => void
  /** Takes the last report back and ends. */
  close(): Promise<void>
}

const optionNames = ['service', 'to', 'parts', 'intervalMs', 'clock']

/**
 * Reports how the parts of this process stand, so that `sluice top`, the page and `/v1/stats` show the whole fleet.
 *
 * @example
 * const reports = startReports({
 *   service: 'shop',
 *   to: redisReports(redis),
 *   parts: [partReport('limiter', limiter), partReport('cache', prices, 'prices')],
 * })
 * await reports.close()
 */
export function startReports(options: ReportsOptions): Reports {
  checkOptionNames('startReports', options, optionNames)
  const { service, to, parts, intervalMs = 2000, clock = systemClock() } = options
  if (typeof service !== 'string' || service === '')
    throw invalidOption('startReports.service', service, "give the service's name")
  if (!(intervalMs >= 100 && intervalMs <= 5000))
    throw invalidOption('startReports.intervalMs', intervalMs, 'use 100 to 5000 ms: a report is forgotten after 10 s')
  const reporting: Reporting = {
    service,
    replica: randomUUID(),
    host: hostname(),
    pid: process.pid,
    startedAt: Math.round(clock.now() / 1000),
  }
  return new TimedReports(reporting, to, parts, intervalMs, clock)
}

/**
 * A part with `stats()` as it is reported.
 *
 * @example partReport('cache', prices, 'prices')
 */
export function partReport(kind: PartKind | (string & {}), part: { stats(): unknown }, name = ''): ReportPart {
  return { kind, name, stats: () => part.stats() }
}

class TimedReports implements Reports {
  readonly #reporting: Reporting
  readonly #to: ReportDestination
  readonly #parts: Set<ReportPart>
  readonly #intervalMs: number
  readonly #clock: Clock
  readonly #events = new Emitter<ReportEvents>()
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(
    reporting: Reporting,
    to: ReportDestination,
    parts: readonly ReportPart[],
    intervalMs: number,
    clock: Clock,
  ) {
    this.#reporting = reporting
    this.#to = to
    this.#parts = new Set(parts)
    this.#intervalMs = intervalMs
    this.#clock = clock
    void this.#tick()
  }

  get replica(): string {
    return this.#reporting.replica
  }

  add(part: ReportPart): () => void {
    this.#parts.add(part)
    return () => void this.#parts.delete(part)
  }

  on<Name extends keyof ReportEvents>(name: Name, listener: (event: ReportEvents[Name]) => void): () => void {
    return this.#events.on(name, listener)
  }

  send(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #tick(): Promise<void> {
    await this.send()
    if (this.#closing !== undefined) return
    this.#timer = this.#clock.setTimeout(() => void this.#tick(), this.#intervalMs)
    this.#timer.unref?.()
  }

  async #send(): Promise<void> {
    const { service, replica } = this.#reporting
    try {
      const text = buildReport(this.#reporting, [...this.#parts])
      await this.#to.send(service, replica, text, this.#intervalMs)
      this.#events.emit('sent', { bytes: text.length })
    } catch (error) {
      this.#events.emit('failed', { error: error as Error })
    }
  }

  async #close(): Promise<void> {
    this.#clock.clearTimeout(this.#timer)
    await this.#sending
    const { service, replica } = this.#reporting
    // What cannot be taken back expires by itself.
    await this.#to.remove(service, replica, 500).catch(() => {})
    await this.#to.close()
  }
}
