import type { Limiter, LimiterEvents } from 'sluice'
import type { HotKey } from './hot-keys.ts'
import { RecentHotKeys } from './recent-hot-keys.ts'

/** Most keys counted for each rule, and most rules counted. */
const keysPerRule = 200
const maxRules = 1000
/** How many seconds the recent past has. */
const seconds = 60

export interface Tally {
  allowed: number
  denied: number
  degraded: number
}

interface RuleStats extends Tally {
  readonly used: RecentHotKeys
  readonly deniedKeys: RecentHotKeys
}

export interface RuleReport extends Tally {
  readonly rule: string
  readonly hottest: readonly HotKey[]
  readonly mostDenied: readonly HotKey[]
}

/** Counts what a limiter decides: by rule, by second, and by key in bounded memory. */
export class Stats {
  readonly #rules = new Map<string, RuleStats>()
  readonly #seconds: (Tally & { second: number })[] = Array.from({ length: seconds }, () => ({ ...none(), second: -1 }))
  readonly #now: () => number
  readonly total: Tally = none()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  watch(limiter: Limiter): () => void {
    return limiter.on('decision', (event) => this.#count(event))
  }

  /** How many decisions there were in each of the last seconds, the present one last. */
  recent(): readonly Tally[] {
    const present = Math.floor(this.#now() / 1000)
    return Array.from({ length: seconds }, (_, i) => {
      const second = present - seconds + 1 + i
      const found = this.#seconds[((second % seconds) + seconds) % seconds]!
      const { allowed, denied, degraded } = found.second === second ? found : none()
      return { allowed, denied, degraded }
    })
  }

  /** Every rule with its keys, the busiest first. */
  rules(top: number): readonly RuleReport[] {
    const nowMs = this.#now()
    return [...this.#rules]
      .map(([rule, { allowed, denied, degraded, used, deniedKeys }]) => ({
        rule,
        allowed,
        denied,
        degraded,
        hottest: used.top(top, nowMs).keys,
        mostDenied: deniedKeys.top(top, nowMs).keys,
      }))
      .sort((a, b) => b.allowed + b.denied - a.allowed - a.denied)
  }

  /** Over how long hot keys are counted, in milliseconds. */
  readonly hotKeysOverMs = 120_000

  #count({ decision, subjects, cost }: LimiterEvents['decision']): void {
    const nowMs = this.#now()
    const outcome = decision.allowed ? 'allowed' : 'denied'
    const present = this.#second(nowMs)
    this.total[outcome]++
    present[outcome]++
    if (decision.degraded) {
      this.total.degraded++
      present.degraded++
    }
    for (const subject of subjects) {
      const name = ruleOf(subject)
      if (!decision.allowed && decision.rule !== name) continue
      const rule = this.#rule(name, nowMs)
      if (rule === undefined) continue
      rule[outcome]++
      if (decision.degraded) rule.degraded++
      if (decision.allowed) rule.used.add(subject, cost, nowMs)
      else rule.deniedKeys.add(subject, 1, nowMs)
    }
  }

  #second(nowMs: number): Tally {
    const second = Math.floor(nowMs / 1000)
    const place = this.#seconds[second % seconds]!
    if (place.second !== second) Object.assign(place, none(), { second })
    return place
  }

  #rule(name: string, nowMs: number): RuleStats | undefined {
    let rule = this.#rules.get(name)
    if (rule === undefined && this.#rules.size < maxRules) {
      rule = {
        ...none(),
        used: new RecentHotKeys(keysPerRule, nowMs),
        deniedKeys: new RecentHotKeys(keysPerRule, nowMs),
      }
      this.#rules.set(name, rule)
    }
    return rule
  }
}

function none(): Tally {
  return { allowed: 0, denied: 0, degraded: 0 }
}

/** The rule of a readable key `service/rule/part...`. */
function ruleOf(subject: string): string {
  const start = subject.indexOf('/') + 1
  return subject.slice(start, subject.indexOf('/', start))
}
