import { randomBytes } from 'node:crypto'
import type { Limiter } from 'sluice'
import { type LimiterCounter, type LimiterStats, latencyQuantile, type ReceivedReport } from 'sluice/reports'
import { ruleChanges } from '../policy/rule-changes.ts'
import type { HappeningEntry } from '../shapes/page.ts'
import { isLimiter } from './fleet/fleet.ts'
import type { FleetLook } from './fleet/fleet-reader.ts'
import { FleetSeconds } from './fleet-seconds.ts'
import { LiveLog } from './live-log.ts'
import { Outages } from './outages.ts'
import { RecentDenials } from './recent-denials.ts'
import { RuleHistory, type RuleTotals, stepMs } from './rule-history.ts'
import { StoreActivity } from './store-activity.ts'

/** How often the reports of the fleet are read, with and without a viewer: they can be megabytes. */
const lookEveryMs = { watched: 2000, alone: 10_000 }
/** How long somebody who has asked once is taken for a viewer. */
const wantedForMs = 10_000
/** Most viewers at once. */
const maxWatchers = 100

export interface LiveOptions {
  readonly limiter: Limiter
  readonly counter: LimiterCounter
  /** This process in the reports, so that it is not counted twice. */
  readonly replica: string
  readonly look: () => Promise<FleetLook>
  /** The document in force, as an object. */
  readonly document: () => unknown
  /** Milliseconds since 1970, by a clock that never goes back. That of the limiter by default. */
  readonly nowMs?: () => number
}

/** What the page shows of the last 15 minutes, kept whether or not a page is open. */
export class Live {
  readonly log: LiveLog
  readonly outages: Outages = new Outages()
  readonly denials: RecentDenials
  readonly rules: RuleHistory = new RuleHistory()
  readonly store: StoreActivity
  readonly #options: LiveOptions
  readonly #seconds: FleetSeconds
  readonly #nowMs: () => number
  readonly #watchers = new Set<() => void>()
  #wantedMs = Number.NEGATIVE_INFINITY
  readonly #ends: (() => void)[]
  #fleet: FleetLook = { reports: [], complete: true }
  #isLooking = false
  #lookedMs = 0
  #steppedMs: number
  #document: unknown

  constructor(options: LiveOptions) {
    const { limiter, nowMs = () => limiter.clock.now() / 1000 } = options
    this.#options = options
    this.#nowMs = nowMs
    this.log = new LiveLog(randomBytes(6).toString('hex'))
    this.denials = new RecentDenials(this.log.epoch)
    this.#seconds = new FleetSeconds(nowMs())
    this.#steppedMs = nowMs()
    this.rules.add(new Map([[options.replica, []]]), 1)
    this.store = new StoreActivity(limiter, nowMs)
    this.#document = options.document()
    const timer = setInterval(() => this.#tick(), 1000)
    timer.unref()
    this.#ends = [() => clearInterval(timer), ...this.#listen(limiter)]
  }

  /** Every other process of the service, as it last reported. */
  get fleet(): FleetLook {
    return this.#fleet
  }

  get isFull(): boolean {
    return this.#watchers.size >= maxWatchers
  }

  /** Registers a watcher, until the returned function is called; `ended` is called when the daemon ends. */
  watch(ended: () => void): () => void {
    this.#watchers.add(ended)
    this.#lookAtFleet()
    return () => this.#watchers.delete(ended)
  }

  /** Somebody reads what the fleet reports, without a stream. */
  wanted(): void {
    const isNew = this.#nowMs() - this.#wantedMs > wantedForMs
    this.#wantedMs = this.#nowMs()
    if (isNew) this.#lookAtFleet()
  }

  close(): void {
    for (const end of this.#ends.splice(0)) end()
    for (const ended of [...this.#watchers]) ended()
  }

  #listen(limiter: Limiter): (() => void)[] {
    const { outages } = this
    return [
      limiter.on('decided', (event) => {
        if (event.decision.degraded) this.#changesOutage(() => outages.degraded(this.#nowMs()))
        this.denials.add(event, this.#nowMs())
      }),
      limiter.on('storeFailed', ({ kind, error }) => outages.failed(kind, error.message)),
      limiter.on('breakerChanged', ({ state }) => this.#changesOutage(() => outages.breakerIs(state, this.#nowMs()))),
      limiter.on('policyLoaded', ({ version, source }) => this.#policyLoaded(version, source)),
      limiter.on('policyRejected', ({ source, error }) =>
        this.#happened({ kind: 'policy-rejected', at: this.#nowMs() / 1000, source, message: error.message }),
      ),
    ]
  }

  #policyLoaded(version: string, source: string): void {
    const document = this.#options.document()
    const changes =
      this.#document === undefined || document === undefined ? null : ruleChanges(this.#document, document)
    this.#document = document
    this.#happened({ kind: 'policy', at: this.#nowMs() / 1000, version, source, changes })
  }

  #changesOutage(change: () => void): void {
    const before = this.outages.current
    change()
    const now = this.outages.current
    if (before === undefined && now !== undefined)
      this.#happened({ kind: 'degraded', at: now.sinceMs / 1000, failure: now.failure, message: now.message })
  }

  #happened(entry: HappeningEntry): void {
    this.log.append([entry], this.#nowMs())
  }

  #tick(): void {
    const nowMs = this.#nowMs()
    const over = this.outages.ended(nowMs)
    if (over !== undefined) {
      const { untilMs, sinceMs, decisions } = over
      this.#happened({ kind: 'exact-again', at: untilMs / 1000, since: sinceMs / 1000, decisions })
    }
    const own = this.#options.counter.counts
    const recent = own.recent().map(({ allowed, denied, degraded }) => [allowed, denied, degraded])
    this.#seconds.add({ replica: this.#options.replica, recent, second: own.second, ageMs: 0 }, nowMs)
    const { p50Ms, p99Ms } = this.latency()
    const replicas = 1 + this.#fleet.reports.length
    const seconds = this.#seconds.take(nowMs)
    this.log.append(
      seconds.map((second) => ({ kind: 'second', ...second, p50Ms, p99Ms, replicas })),
      nowMs,
    )
    const isWatched = this.#watchers.size > 0 || nowMs - this.#wantedMs < wantedForMs
    if (nowMs - this.#lookedMs >= (isWatched ? lookEveryMs.watched : lookEveryMs.alone) - 500) this.#lookAtFleet()
    this.#step(nowMs)
  }

  /** How long decisions take in all processes. */
  latency(): { readonly p50Ms: number | null; readonly p99Ms: number | null } {
    const all = [this.#options.counter.counts.latency(), ...this.#others().map(({ stats }) => stats.latency ?? [])]
    const counts = all[0]!.map((_, i) => all.reduce((sum, each) => sum + (each[i] ?? 0), 0))
    return { p50Ms: latencyQuantile(counts, 0.5) ?? null, p99Ms: latencyQuantile(counts, 0.99) ?? null }
  }

  /** Every limiter of the other processes. */
  #others(): {
    readonly process: string
    readonly limiter: string
    readonly stats: LimiterStats
    readonly ageMs: number
  }[] {
    return this.#fleet.reports.flatMap(({ report: { replica, sections }, ageMs }) =>
      sections
        .filter(isLimiter)
        // Where a version of Sluice does not tell its limiters apart, their order does, until one of them is closed.
        .map(({ id, stats }, i) => ({ process: replica, limiter: `${replica} ${id ?? `#${i}`}`, stats, ageMs })),
    )
  }

  #lookAtFleet(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    this.#lookedMs = this.#nowMs()
    void this.#options
      .look()
      .then((look) => this.#heard(look))
      .finally(() => {
        this.#isLooking = false
      })
  }

  #heard({ reports, complete }: FleetLook): void {
    const isOther = ({ report }: ReceivedReport): boolean => report.replica !== this.#options.replica
    this.#fleet = { reports: reports.filter(isOther), complete }
    const nowMs = this.#nowMs()
    // Another version may not number its seconds; it is in the totals, and not in the chart.
    for (const { process, limiter, stats, ageMs } of this.#others()) {
      // Nor its denials.
      this.denials.hear(process, limiter, stats.denials ?? [], nowMs - ageMs)
      if (Number.isSafeInteger(stats.second))
        this.#seconds.add({ replica: limiter, recent: stats.recent, second: stats.second, ageMs }, nowMs)
    }
  }

  #step(nowMs: number): void {
    const begun = Math.max(0, Math.floor((nowMs - this.#steppedMs) / stepMs))
    this.#steppedMs += begun * stepMs
    const totals = new Map<string, readonly RuleTotals[]>([
      [this.#options.replica, this.#options.counter.counts.ruleCounts().map(totalsOf)],
    ])
    for (const { process, stats } of this.#others())
      totals.set(process, [...(totals.get(process) ?? []), ...stats.rules.map(totalsOf)])
    this.rules.add(totals, begun)
  }
}

function totalsOf(rule: Pick<LimiterStats['rules'][number], 'rule' | 'allowed' | 'denied' | 'shadow'>): RuleTotals {
  const { allowed, denied, shadow } = rule
  return { rule: rule.rule, allowed, denied, wouldDeny: shadow?.denied ?? 0 }
}
