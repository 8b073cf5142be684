import type { Limiter, LimiterEvents } from 'sluice'
import type { DecisionStats } from 'sluice/reports'

/** One event of the feed, ready to be written. */
export interface FeedEvent {
  readonly name: 'tick' | 'denial' | 'degraded' | 'policy' | 'policy-rejected' | 'breaker' | 'store-failure'
  readonly data: unknown
}

type Listener = (event: FeedEvent) => void

/** Most listeners at once, and most single decisions sent in a second. */
export const maxListeners = 100
const samplesPerSecond = 20

/**
 * What happens, for pages and terminals: every change of policy and breaker, a tick each second, and a sample of
 * denials. It listens to the limiter only while it has listeners itself.
 */
export class LiveFeed {
  readonly #limiter: Limiter
  readonly #stats: DecisionStats
  readonly #listeners = new Map<Listener, () => void>()
  #stop: (() => void) | undefined
  #samples = 0

  constructor(limiter: Limiter, stats: DecisionStats) {
    this.#limiter = limiter
    this.#stats = stats
  }

  get isFull(): boolean {
    return this.#listeners.size >= maxListeners
  }

  /** Adds a listener; the returned function removes it. `ended` is called when the feed itself ends. */
  listen(listener: Listener, ended: () => void): () => void {
    this.#listeners.set(listener, ended)
    this.#stop ??= this.#start()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#stop?.()
      this.#stop = undefined
    }
  }

  close(): void {
    for (const ended of [...this.#listeners.values()]) ended()
  }

  #tell(name: FeedEvent['name'], data: unknown): void {
    for (const listener of this.#listeners.keys()) listener({ name, data })
  }

  #start(): () => void {
    const limiter = this.#limiter
    const ends = [
      limiter.on('decided', (event) => this.#sample(event)),
      limiter.on('breakerChanged', (event) => this.#tell('breaker', event)),
      limiter.on('storeFailed', ({ kind, error }) => this.#limited('store-failure', { kind, message: error.message })),
      limiter.on('policyLoaded', (event) => this.#tell('policy', event)),
      limiter.on('policyRejected', ({ source, error }) =>
        this.#tell('policy-rejected', { source, message: error.message }),
      ),
    ]
    const timer = setInterval(() => {
      this.#samples = 0
      this.#tell('tick', { decisions: this.#stats.total, lastSecond: this.#stats.recent().at(-2) })
    }, 1000)
    timer.unref()
    return () => {
      clearInterval(timer)
      for (const end of ends) end()
    }
  }

  #sample({ decision, subjects, cost }: LimiterEvents['decided']): void {
    if (decision.allowed && !decision.degraded) return
    const { rule, reason, retryAfterMs, failure } = decision
    this.#limited(decision.allowed ? 'degraded' : 'denial', { rule, reason, retryAfterMs, failure, subjects, cost })
  }

  #limited(name: FeedEvent['name'], data: unknown): void {
    if (++this.#samples <= samplesPerSecond) this.#tell(name, data)
  }
}
