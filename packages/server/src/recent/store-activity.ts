import type { Limiter } from 'sluice'
import { Latencies, latencyQuantile } from 'sluice/reports'
import type { Overview } from '../shapes/page.ts'

const generationMs = 30_000

/** How the store was used in the last minute or so. Counts round trips and answers without one. */
export class StoreActivity {
  readonly #nowMs: () => number
  readonly #latencies: Latencies
  #counts = [none(), none()] as [Counts, Counts]
  #begunMs: number

  constructor(limiter: Limiter, nowMs: () => number) {
    this.#nowMs = nowMs
    this.#begunMs = nowMs()
    this.#latencies = new Latencies(nowMs())
    limiter.on('storeAnswered', ({ asks, tookMs }) => {
      this.#latencies.add(tookMs, nowMs())
      this.#present.calls++
      this.#present.asks += asks
    })
    limiter.on('answeredLocally', () => this.#present.local++)
  }

  look(): Pick<Overview['store'], 'roundTripP99Ms' | 'decisionsPerCall' | 'answeredLocally'> {
    const [present, former] = [this.#present, this.#counts[1]]
    const [calls, asks, local] = [
      present.calls + former.calls,
      present.asks + former.asks,
      present.local + former.local,
    ]
    return {
      roundTripP99Ms: latencyQuantile(this.#latencies.counts(this.#nowMs()), 0.99) ?? null,
      decisionsPerCall: calls === 0 ? null : asks / calls,
      answeredLocally: local + asks === 0 ? null : local / (local + asks),
    }
  }

  get #present(): Counts {
    const passedMs = this.#nowMs() - this.#begunMs
    if (passedMs >= generationMs) {
      this.#begunMs = this.#nowMs()
      this.#counts = [none(), passedMs < 2 * generationMs ? this.#counts[0] : none()]
    }
    return this.#counts[0]
  }
}

interface Counts {
  calls: number
  asks: number
  local: number
}

function none(): Counts {
  return { calls: 0, asks: 0, local: 0 }
}
