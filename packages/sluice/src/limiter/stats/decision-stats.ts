import { Latencies } from '../../runtime/latencies.ts'
import type { DecidedEvent } from '../events.ts'
import type { HotKey } from './hot-keys.ts'
import { RecentDenials } from './recent-denials.ts'
import { RecentHotKeys } from './recent-hot-keys.ts'

/** Most keys counted for each rule, and most rules counted. */
const keysPerRule = 200
const maxRules = 1000
/** How many seconds the recent past has. */
const seconds = 60

/** How many decisions there were. */
export interface DecisionCounts {
  readonly allowed: number
  readonly denied: number
  readonly degraded: number
}

/** What was decided by one rule. */
export interface RuleStats extends DecisionCounts {
  readonly rule: string
  /** What a rule in shadow mode would have done; it is not in the counts above. */
  readonly shadow: { readonly allowed: number; readonly denied: number }
  /** Over how long keys were counted, in milliseconds. */
  readonly keysOverMs: number
  /** The keys that used most units, and those that were denied most often, in the last one to two minutes. */
  readonly hottest: readonly HotKey[]
  readonly mostDenied: readonly HotKey[]
}

type Counts = { -readonly [Name in keyof DecisionCounts]: DecisionCounts[Name] }

interface RuleCounts extends Counts {
  readonly shadow: { allowed: number; denied: number }
  readonly used: RecentHotKeys
  readonly deniedKeys: RecentHotKeys
}

/** Counts decisions: by rule, by second, and by key in bounded memory. */
export class DecisionStats {
  readonly #rules = new Map<string, RuleCounts>()
  readonly #seconds: (Counts & { second: number })[] = Array.from({ length: seconds }, () => ({
    ...none(),
    second: -1,
  }))
  readonly #nowMs: () => number
  readonly #total: Counts = none()
  readonly #latencies: Latencies
  /** The last denials that were counted. */
  readonly denials: RecentDenials = new RecentDenials()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#latencies = new Latencies(nowMs())
  }

  get total(): DecisionCounts {
    return { ...this.#total }
  }

  /** The number of the present second, by a clock of this process that never goes back. */
  get second(): number {
    return Math.floor(this.#nowMs() / 1000)
  }

  /** How long decisions took, as counts for `latencyQuantile`. */
  latency(): readonly number[] {
    return this.#latencies.counts(this.#nowMs())
  }

  /** How many decisions there were in each of the last 60 seconds, the present one last. */
  recent(): readonly DecisionCounts[] {
    const present = Math.floor(this.#nowMs() / 1000)
    return Array.from({ length: seconds }, (_, i) => {
      const second = present - seconds + 1 + i
      const found = this.#seconds[((second % seconds) + seconds) % seconds]!
      const { allowed, denied, degraded } = found.second === second ? found : none()
      return { allowed, denied, degraded }
    })
  }

  /** Every rule without its keys, in no order. */
  ruleCounts(): readonly Pick<RuleStats, 'rule' | 'allowed' | 'denied' | 'degraded' | 'shadow'>[] {
    return [...this.#rules].map(([rule, { allowed, denied, degraded, shadow }]) => ({
      ...{ rule, allowed, denied, degraded },
      shadow: { ...shadow },
    }))
  }

  /** Every rule with its keys, the busiest first; or one alone. */
  rules(top: number, only?: string): readonly RuleStats[] {
    const nowMs = this.#nowMs()
    return [...this.#rules]
      .filter(([rule]) => only === undefined || rule === only)
      .map(([rule, { allowed, denied, degraded, shadow, used, deniedKeys }]) => {
        const [hot, refused] = [used.top(top, nowMs), deniedKeys.top(top, nowMs)]
        const keysOverMs = Math.round(Math.max(hot.overMs, refused.overMs))
        return {
          ...{ rule, allowed, denied, degraded, shadow: { ...shadow }, keysOverMs },
          ...{ hottest: hot.keys, mostDenied: refused.keys },
        }
      })
      .sort((a, b) => b.allowed + b.denied - a.allowed - a.denied)
  }

  /** `weight` is how many decisions this one stands for. */
  count({ decision, rules, subjects, cost, tookMs }: DecidedEvent, weight = 1): void {
    const nowMs = this.#nowMs()
    const present = this.#second(nowMs)
    this.#latencies.add(tookMs, nowMs, weight)
    for (const { rule, allowed } of decision.shadow) {
      const counts = this.#rule(rule, nowMs)?.shadow
      if (counts !== undefined) counts[allowed ? 'allowed' : 'denied'] += weight
    }
    const outcome = decision.allowed ? 'allowed' : 'denied'
    this.#total[outcome] += weight
    present[outcome] += weight
    if (!decision.allowed) this.denials.add(decision, subjects[rules.indexOf(decision.rule)] ?? '', cost, nowMs)
    if (decision.degraded) {
      this.#total.degraded += weight
      present.degraded += weight
    }
    for (let i = 0; i < rules.length; i++) {
      const name = rules[i]!
      if (!decision.allowed && decision.rule !== name) continue
      const rule = this.#rule(name, nowMs)
      if (rule === undefined) continue
      rule[outcome] += weight
      if (decision.degraded) rule.degraded += weight
      if (decision.allowed) rule.used.add(subjects[i]!, cost * weight, nowMs)
      else rule.deniedKeys.add(subjects[i]!, weight, nowMs)
    }
  }

  #second(nowMs: number): Counts {
    const second = Math.floor(nowMs / 1000)
    const counts = this.#seconds[second % seconds]!
    if (counts.second !== second) Object.assign(counts, none(), { second })
    return counts
  }

  #rule(name: string, nowMs: number): RuleCounts | undefined {
    let rule = this.#rules.get(name)
    if (rule === undefined && this.#rules.size < maxRules) {
      rule = {
        ...none(),
        shadow: { allowed: 0, denied: 0 },
        used: new RecentHotKeys(keysPerRule, nowMs),
        deniedKeys: new RecentHotKeys(keysPerRule, nowMs),
      }
      this.#rules.set(name, rule)
    }
    return rule
  }
}

function none(): Counts {
  return { allowed: 0, denied: 0, degraded: 0 }
}
