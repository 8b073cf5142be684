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

/** What each rule decided in steps of ten seconds, over 15 minutes, from totals of all processes. */
export class RuleHistory {
  readonly #last = new Map<string, ReadonlyMap<string, RuleTotals>>()
  #steps: ReadonlyMap<string, Step>[] = []

  /**
   * Adds what has grown to the present step, or begins a new one. What a process had counted before it was first seen
   * belongs to no step.
   */
  add(totals: ReadonlyMap<string, readonly RuleTotals[]>, isNew: boolean): void {
    const step = new Map(isNew ? [] : this.#steps.at(-1))
    for (const [replica, rules] of totals) {
      const last = this.#last.get(replica)
      for (const each of last === undefined ? [] : rules) {
        const [allowed, denied, wouldDeny] = step.get(each.rule) ?? [0, 0, 0]
        const before = last!.get(each.rule)
        if (step.size < maxRules || step.has(each.rule))
          step.set(each.rule, [
            allowed + grown(each.allowed, before?.allowed),
            denied + grown(each.denied, before?.denied),
            wouldDeny + grown(each.wouldDeny, before?.wouldDeny),
          ])
      }
      this.#last.set(replica, new Map(rules.map((each) => [each.rule, each])))
    }
    for (const replica of this.#last.keys()) if (!totals.has(replica)) this.#last.delete(replica)
    this.#steps = [...(isNew ? this.#steps : this.#steps.slice(0, -1)), step].slice(-steps)
  }

  /** The steps of a rule, oldest first. */
  of(rule: string): readonly Step[] {
    return this.#steps.map((step) => step.get(rule) ?? [0, 0, 0])
  }
}

/** Rules that a report left out for a while have not gone back. */
function grown(now: number, before = 0): number {
  return Math.max(0, now - before)
}
