import type { ReportPart } from '../core/observe/report.ts'
import type { SharedRedis } from '../redis/shared-redis.ts'
import { processParts } from '../runtime/process-parts.ts'
import { PartActions } from './part-actions.ts'
import { redisReports } from './redis-reports.ts'
import { reportEveryMs, TimedReports } from './timed-reports.ts'

interface Running {
  readonly reports: TimedReports
  readonly release: () => Promise<void>
}

/**
 * The reports of a Redis handle: all parts that were made with it, and the parts of this process that were made without
 * any handle. Nothing is sent while there are none.
 */
export class ProcessReports {
  readonly #redis: SharedRedis
  readonly #service: string | undefined
  readonly #prefix: string
  readonly #actions: PartActions | undefined
  readonly #parts = new Set<ReportPart>()
  #running: Running | undefined

  constructor(redis: SharedRedis, service: string | undefined, prefix: string, allowsActions: boolean) {
    this.#redis = redis
    this.#service = service
    this.#prefix = prefix
    this.#actions = allowsActions ? new PartActions() : undefined
  }

  /** Reports a part until the returned function is called. */
  add(part: ReportPart): () => Promise<void> {
    this.#parts.add(part)
    // A part that counts only for those who look at it counts from the start.
    part.stats()
    this.#running ??= this.#start()
    return async () => {
      this.#parts.delete(part)
      if (this.#parts.size === 0) await this.close()
    }
  }

  async close(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    await running?.reports.close()
    await running?.release()
  }

  #start(): Running {
    const actions = this.#actions
    const reports = new TimedReports({
      to: redisReports(this.#redis, this.#prefix, {
        onOrdered: (service, ordered) => actions?.begin(ordered, this.#byService().get(service) ?? []),
      }),
      actions,
      parts: () => this.#byService(),
      everyMs: reportEveryMs,
      clock: this.#redis.clock,
    })
    // A process that lives shorter than this is not worth a report.
    reports.later()
    return { reports, release: this.#redis.use() }
  }

  /** A part that does not name its service belongs to that of the handle, else to all that others name. */
  #byService(): ReadonlyMap<string, readonly ReportPart[]> {
    const named = [...this.#parts].map((part) => ({ part, service: part.service ?? this.#service }))
    const services = new Set(named.flatMap(({ service }) => service ?? []))
    if (services.size === 0) services.add('default')
    const others = processParts()
    return new Map(
      [...services].map((of) => [
        of,
        [...named.filter(({ service }) => (service ?? of) === of).map(({ part }) => part), ...others],
      ]),
    )
  }
}
