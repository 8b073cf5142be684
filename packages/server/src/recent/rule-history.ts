import type { Step } from '../shapes/page.ts'

/** Totals of one rule in one process, as they only grow. */
export interface RuleTotals {
  readonly rule: string
  readonly allowed: number
  readonly denied: number
  readonly wouldDeny: number
}

export const stepMs = 10_000
const steps = 90
const maxRules = 1000
/** So many steps a process is remembered without a report. */
const rememberedSteps = 12

interface Last {
  readonly step: number
  readonly rules: ReadonlyMap<string, RuleTotals>
}

/** What each rule decided in steps of ten seconds, over 15 minutes, from totals of all processes. */
export class RuleHistory {
  readonly #last = new Map<string, Last>()
  /** The number of the present step. */
  #step = 0
  #steps: ReadonlyMap<string, Step>[] = []

  /**
   * Adds what has grown to the present step, after as many steps as have begun since. What a process had counted before
   * it was first seen belongs to no step. A process may list a rule several times, once for each limiter.
   */
  add(totals: ReadonlyMap<string, readonly RuleTotals[]>, begun: number): void {
    this.#step += begun
    const step = new Map(begun > 0 ? [] : this.#steps.at(-1))
    for (const [replica, listed] of totals) {
      const last = this.#last.get(replica)?.rules
      const rules = summed(listed)
      for (const each of last === undefined ? [] : rules.values()) {
        const [allowed, denied, wouldDeny] = step.get(each.rule) ?? [0, 0, 0]
        const before = last!.get(each.rule)
        if (step.size < maxRules || step.has(each.rule))
          step.set(each.rule, [
            allowed + grown(each.allowed, before?.allowed),
            denied + grown(each.denied, before?.denied),
            wouldDeny + grown(each.wouldDeny, before?.wouldDeny),
          ])
      }
      // A report has the busiest rules only, and one that comes back has not counted everything since.
      const all = new Map([...(last ?? []), ...rules])
      this.#last.set(replica, { step: this.#step, rules: all.size > maxRules ? rules : all })
    }
    for (const [replica, { step: seen }] of this.#last)
      if (this.#step - seen > rememberedSteps) this.#last.delete(replica)
    const passed = Array.from({ length: Math.min(steps, Math.max(0, begun - 1)) }, () => new Map<string, Step>())
    this.#steps = [...(begun > 0 ? this.#steps : this.#steps.slice(0, -1)), ...passed, step].slice(-steps)
  }

  /** The steps of a rule, oldest first. */
  of(rule: string): readonly Step[] {
    return this.#steps.map((step) => step.get(rule) ?? [0, 0, 0])
  }
}

function summed(rules: readonly RuleTotals[]): Map<string, RuleTotals> {
  const sums = new Map<string, RuleTotals>()
  for (const each of rules) {
    const { allowed = 0, denied = 0, wouldDeny = 0 } = sums.get(each.rule) ?? {}
    sums.set(each.rule, {
      rule: each.rule,
      allowed: allowed + each.allowed,
      denied: denied + each.denied,
      wouldDeny: wouldDeny + each.wouldDeny,
    })
  }
  return sums
}

/** Totals of a process are smaller after it closed one of its limiters. */
function grown(now: number, before = 0): number {
  return Math.max(0, now - before)
}
