import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock, Timer } from '../core/clock.ts'
import type { ReportPart } from '../core/observe/report.ts'
import { buildReport, type Reporting } from './build-report.ts'
import type { ReportDestination } from './destination.ts'
import type { PartActions } from './part-actions.ts'

/** How often a process reports. */
export const reportEveryMs = 2000

export interface TimedReportsOptions {
  readonly to: ReportDestination
  /** The parts to report now, by service. */
  readonly parts: () => ReadonlyMap<string, readonly ReportPart[]>
  readonly everyMs: number
  readonly clock: Clock
  /** Undefined when the process allows none. */
  readonly actions?: PartActions | undefined
  readonly sent?: (bytes: number) => void
  readonly failed?: (error: Error) => void
}

/** Sends the reports of one process, until it is closed. */
export class TimedReports {
  /** This process in the reports. */
  readonly replica: string = randomUUID()
  readonly #options: TimedReportsOptions
  readonly #startedAt: number
  /** The services that a report was sent for. */
  readonly #reported = new Set<string>()
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #closed = false

  constructor(options: TimedReportsOptions) {
    this.#options = options
    this.#startedAt = Math.round(options.clock.now() / 1000)
  }

  /** Sends one now, and then every `everyMs`. */
  async start(): Promise<void> {
    await this.send()
    this.later()
  }

  /** Sends one `everyMs` from now, and so on. */
  later(): void {
    const { clock, everyMs } = this.#options
    if (this.#closed) return
    this.#timer = clock.setTimeout(() => void this.start(), everyMs)
    this.#timer.unref?.()
  }

  /** Sends a report now, unless one is in flight. Never rejects. */
  send(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  /** Ends, and takes the last reports back. */
  async close(): Promise<void> {
    const { clock, to } = this.#options
    this.#closed = true
    clock.clearTimeout(this.#timer)
    await this.#sending
    // What cannot be taken back expires by itself.
    for (const service of this.#reported) await to.remove(service, this.replica, 500).catch(() => {})
  }

  async #send(): Promise<void> {
    for (const [service, parts] of this.#options.parts()) await this.#sendOne(service, parts)
  }

  async #sendOne(service: string, parts: readonly ReportPart[]): Promise<void> {
    const { to, everyMs, actions, sent, failed } = this.#options
    const of: Reporting = {
      service,
      replica: this.replica,
      host: hostname(),
      pid: process.pid,
      startedAt: this.#startedAt,
    }
    try {
      const text = buildReport(of, parts, actions?.results)
      this.#reported.add(service)
      await to.send(service, this.replica, text, everyMs)
      sent?.(text.length)
    } catch (error) {
      failed?.(error as Error)
    }
  }
}
