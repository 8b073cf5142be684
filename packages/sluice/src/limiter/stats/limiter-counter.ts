import type { RecountOutcome } from '../../stores/store.ts'
import type { WaitOutcome } from '../events.ts'
import type { Limiter } from '../limiter.ts'
import { DecisionStats } from './decision-stats.ts'
import type { LimiterStats } from './limiter-stats.ts'
import type { Sample } from './sample.ts'

/** Keys of all rules together, and rules, in one look: a report must stay small. */
const maxKeys = 120
const maxRules = 60

/**
 * Counts what a limiter decides, from the moment it is made, until `stop`. Other limiters of the same service can be
 * added.
 *
 * @example
 * const counter = new LimiterCounter(limiter)
 * counter.stats().decisions.denied
 */
export class LimiterCounter {
  readonly #limiter: Limiter
  readonly #counts: DecisionStats
  readonly #sample: Sample | undefined
  readonly #ends: (() => void)[] = []
  readonly #waits: Record<WaitOutcome, number> = { admitted: 0, refused: 0, aborted: 0 }
  readonly #recounts = new Map<string, Record<RecountOutcome, number>>()

  /** With a sample, the decisions that it chooses are counted instead of all. */
  constructor(limiter: Limiter, sample?: Sample) {
    this.#limiter = limiter
    this.#counts = new DecisionStats(() => limiter.clock.monotonic())
    this.#sample = sample
    sample?.start((event, weight) => this.#counts.count(event, weight))
    this.#ends.push(
      sample === undefined ? this.add(limiter) : this.#addRecounts(limiter),
      limiter.on('waited', ({ outcome }) => {
        this.#waits[outcome] += 1
      }),
    )
  }

  /** Counts the decisions of another limiter, too, until the returned function is called. */
  add(limiter: Pick<Limiter, 'on'>): () => void {
    const ends = [limiter.on('decided', (event) => this.#counts.count(event)), this.#addRecounts(limiter)]
    return () => {
      for (const end of ends) end()
    }
  }

  #addRecounts(limiter: Pick<Limiter, 'on'>): () => void {
    return limiter.on('recounted', ({ rule, outcome }) => this.#countRecount(rule, outcome))
  }

  get counts(): DecisionStats {
    return this.#counts
  }

  stats(): LimiterStats {
    this.#sample?.restart()
    const { version, source, ageMs, lastError } = this.#limiter.policy.status
    const rules = this.#counts.rules(maxKeys).slice(0, maxRules)
    const keysEach = Math.max(1, Math.floor(maxKeys / Math.max(1, rules.length)))
    return {
      policy: { version, source, ageMs: Math.round(ageMs), lastError: lastError?.message ?? null },
      breaker: this.#limiter.breaker,
      decisions: this.#counts.total,
      recent: this.#counts.recent().map(({ allowed, denied, degraded }) => [allowed, denied, degraded]),
      second: this.#counts.second,
      latency: this.#counts.latency(),
      rules: rules.map((rule) => ({
        ...rule,
        hottest: rule.hottest.slice(0, keysEach),
        mostDenied: rule.mostDenied.slice(0, keysEach),
      })),
      denials: this.#counts.denials.list(this.#limiter.clock.monotonic()),
      recounts: [...this.#recounts].map(([rule, counts]) => ({ rule, ...counts })),
      waits: { waiting: this.#limiter.waiting, ...this.#waits },
      hotKeysOverMs: 120_000,
    }
  }

  #countRecount(rule: string, outcome: RecountOutcome): void {
    let counts = this.#recounts.get(rule)
    if (counts === undefined) {
      // A rule that is recounted has a function in code, so there are few.
      counts = { allowed: 0, denied: 0, failed: 0, raised: 0 }
      this.#recounts.set(rule, counts)
    }
    counts[outcome] += 1
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end()
  }
}
