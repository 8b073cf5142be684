import type { DecidedEvent } from '../events.ts'

type Denied = Extract<DecidedEvent['decision'], { readonly allowed: false }>

/** A denial, as reports carry it. */
export interface ReportedDenial {
  /** Counts up in one limiter, so that who reads two reports knows what is new. */
  readonly number: number
  readonly agoMs: number
  readonly rule: string
  readonly key: string
  readonly reason: string
  /** The limit that stood in the way; null when the store was away or a key was missing. */
  readonly limit: string | null
  /** Null: never. */
  readonly retryAfterMs: number | null
  readonly cost: number
}

/** How many a report carries. */
const kept = 30

/** The last denials of a limiter. */
export class RecentDenials {
  readonly #last: (Omit<ReportedDenial, 'agoMs'> & { readonly atMs: number })[] = []
  #number = 0

  add({ rule, reason, retryAfterMs, limits }: Denied, key: string, cost: number, nowMs: number): void {
    const full = limits.find((limit) => limit.rule === rule && limit.retryAfterMs > 0)
    const wait = Number.isFinite(retryAfterMs) ? Math.ceil(retryAfterMs) : null
    if (this.#last.length >= kept) this.#last.shift()
    const number = ++this.#number
    this.#last.push({ number, atMs: nowMs, rule, key, reason, limit: full?.name ?? null, retryAfterMs: wait, cost })
  }

  /** The oldest first. */
  list(nowMs: number): ReportedDenial[] {
    return this.#last.map(({ atMs, ...denial }) => ({ ...denial, agoMs: Math.max(0, Math.round(nowMs - atMs)) }))
  }
}
