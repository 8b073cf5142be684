import { checkOptionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { Emitter } from '../core/observe/emitter.ts'
import type { PartKind, ReportPart } from '../core/observe/report.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { ReportDestination } from './destination.ts'
import { reportEveryMs, TimedReports } from './timed-reports.ts'

export interface ReportsOptions {
  /** Whose reports these are: the service of the policy. */
  readonly service: string
  /** Where they go: `daemonReports(url, { token })`. */
  readonly to: ReportDestination
  readonly parts: readonly ReportPart[]
  /** How often; every 2 s by default. Reports are forgotten after 10 s. */
  readonly every?: Duration
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

/**
 * Reports the parts of this process to a daemon, where there is no Redis; a Redis handle reports them by itself.
 *
 * @example
 * const reports = startReports({
 *   service: 'shop',
 *   to: daemonReports('http://127.0.0.1:8440', { token }),
 *   parts: [partReport('limiter', limiter), partReport('cache', prices, 'prices')],
 * })
 * await reports.close()
 */
export function startReports(options: ReportsOptions): Reports {
  checkOptionNames('startReports', options, ['service', 'to', 'parts', 'every', 'clock'])
  const { service, to, every = reportEveryMs, clock = systemClock() } = options
  if (typeof service !== 'string' || service === '')
    throw invalidOption('startReports.service', service, "give the service's name")
  if (typeof to?.send !== 'function')
    throw invalidOption('startReports.to', to, 'give daemonReports(url, { token }); a Redis handle reports by itself')
  if (!Array.isArray(options.parts))
    throw invalidOption('startReports.parts', options.parts, "give a list such as [partReport('limiter', limiter)]")
  const everyMs = parseDuration(every, 'startReports.every')
  if (!(everyMs >= 100 && everyMs <= 5000))
    throw invalidOption('startReports.every', every, 'use 100 ms to 5 s: a report is forgotten after 10 s')
  const parts = new Set(options.parts)
  const events = new Emitter<ReportEvents>({ failed: true, sent: true })
  const reports = new TimedReports({
    to,
    parts: () => new Map([[service, [...parts]]]),
    everyMs,
    clock,
    sent: (bytes) => events.emit('sent', { bytes }),
    failed: (error) => events.emit('failed', { error }),
  })
  void reports.start()
  let closing: Promise<void> | undefined
  return {
    replica: reports.replica,
    add(part) {
      parts.add(part)
      return () => void parts.delete(part)
    },
    send: () => reports.send(),
    on: (name, listener) => events.on(name, listener),
    close() {
      closing ??= reports.close().then(() => to.close())
      return closing
    },
  }
}

/**
 * A part with `stats()` as it is reported.
 *
 * @example partReport('cache', prices, 'prices')
 */
export function partReport(kind: PartKind | (string & {}), part: { stats(): unknown }, name = 'default'): ReportPart {
  if (typeof part?.stats !== 'function')
    throw invalidOption(
      `partReport(${JSON.stringify(kind)}) part`,
      part,
      'pass the part itself, such as await createLimiter(...)',
    )
  return { kind, name, stats: () => part.stats() }
}
