import type { LimiterEvents } from 'sluice'
import type { LimiterStats } from 'sluice/reports'
import type { Denial } from '../shapes/page.ts'

const perRule = 20
const maxRules = 1000
const maxInAll = 1000
/** Of so many limiters it is known what they have reported already. */
const maxLimiters = 1000

/** The last denials of each rule and of all, of this process and of those that report. */
export class RecentDenials {
  readonly #rules = new Map<string, Denial[]>()
  readonly #heard = new Map<string, number>()
  readonly #name: string
  #all: Denial[] = []
  #added = 0

  /** `name` begins the ids of its own denials. */
  constructor(name: string) {
    this.#name = name
  }

  /** How many were added so far. */
  get added(): number {
    return this.#added
  }

  add({ decision, subjects, cost }: LimiterEvents['decided'], nowMs: number): void {
    if (decision.allowed) return
    const { rule, reason, retryAfterMs, limits } = decision
    const key = subjects.find((subject) => subject.split('/', 2)[1] === rule) ?? ''
    const limit = limits.find((each) => each.rule === rule && each.retryAfterMs > 0)?.name ?? null
    const wait = Number.isFinite(retryAfterMs) ? Math.ceil(retryAfterMs) : null
    const id = `${this.#name} ${this.#added + 1}`
    this.#keep({ id, at: Math.round(nowMs), rule, key, reason, limit, retryAfterMs: wait, cost, replica: null })
  }

  /** What a limiter of another process has reported; it reports every denial several times. */
  hear(replica: string, limiter: string, denials: LimiterStats['denials'], sentMs: number): void {
    const last = this.#heard.get(limiter) ?? 0
    for (const { number, agoMs, ...denial } of denials)
      if (number > last) this.#keep({ id: `${limiter} ${number}`, at: Math.round(sentMs - agoMs), ...denial, replica })
    this.#heard.delete(limiter)
    this.#heard.set(limiter, Math.max(last, denials.at(-1)?.number ?? 0))
    if (this.#heard.size > maxLimiters) this.#heard.delete(this.#heard.keys().next().value!)
  }

  /** Those of a rule, the newest first. */
  of(rule: string): readonly Denial[] {
    return newestFirst(this.#rules.get(rule) ?? [])
  }

  /** All that came after the first `seen`, the newest first. */
  since(seen: number): readonly Denial[] {
    const count = Math.max(0, this.#added - seen)
    return count === 0 ? [] : newestFirst(this.#all.slice(-count))
  }

  #keep(denial: Denial): void {
    this.#added += 1
    this.#all.push(denial)
    // Now and then, not with every denial.
    if (this.#all.length >= 2 * maxInAll) this.#all = this.#all.slice(-maxInAll)
    const denials = this.#rules.get(denial.rule) ?? []
    if (denials.length === 0 && this.#rules.size >= maxRules) return
    if (denials.length >= perRule) denials.shift()
    denials.push(denial)
    this.#rules.set(denial.rule, denials)
  }
}

function newestFirst(denials: readonly Denial[]): Denial[] {
  return [...denials].reverse().sort((a, b) => b.at - a.at)
}
