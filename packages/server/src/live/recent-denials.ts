import type { LimiterEvents } from 'sluice'

/** A request that was denied. */
export interface Denial {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly key: string
  readonly reason: string
  /** The limit that stood in the way; undefined when the store was away or a key was missing. */
  readonly limit: string | undefined
  readonly retryAfterMs: number | null
  readonly cost: number
}

const perRule = 20
const maxRules = 1000

/** The last denials of each rule. */
export class RecentDenials {
  readonly #rules = new Map<string, Denial[]>()

  add({ decision, subjects, cost }: LimiterEvents['decided'], nowMs: number): void {
    if (decision.allowed) return
    const { rule, reason, retryAfterMs, limits } = decision
    const denials = this.#rules.get(rule) ?? []
    if (denials.length === 0 && this.#rules.size >= maxRules) return
    if (denials.length >= perRule) denials.shift()
    const key = subjects.find((subject) => subject.split('/', 2)[1] === rule) ?? ''
    const full = limits.find((limit) => limit.rule === rule && limit.retryAfterMs > 0)
    const wait = Number.isFinite(retryAfterMs) ? Math.ceil(retryAfterMs) : null
    denials.push({ at: Math.round(nowMs), key, reason, limit: full?.name, retryAfterMs: wait, cost })
    this.#rules.set(rule, denials)
  }

  /** The newest first. */
  of(rule: string): readonly Denial[] {
    return [...(this.#rules.get(rule) ?? [])].reverse()
  }
}
