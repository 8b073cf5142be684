import type { Charge } from '../../core/engine/ask.ts'
import { periodOf } from './period.ts'

/** Most subjects that are remembered. A forgotten one costs a count of the source, unless the store has yet to hear of its usage. */
const maxSubjects = 50_000

/** What this process knows of a subject in the present period. */
export interface KnownSubject {
  readonly periodStartMs: number
  charge: Charge
  /** The most that was known to be used, by the store or by the source and what was admitted since. */
  used: number
  /** Since when the store was intact when it was last found to know of everything; -1 when it never was. */
  intactSinceUs: number
  /** Units admitted without the store that it has not heard of. */
  unreported: number
  /** How many more units this process may admit without the store, of which amount. Undefined until the source has counted. */
  share: { left: number; readonly amount: number } | undefined
}

/** The subjects of recounted rules, by key; of each only the present period. */
export class KnownSubjects {
  readonly #subjects = new Map<string, KnownSubject>()

  /** Undefined when nothing is known of the subject in this period. */
  get(charge: Charge, nowUs: number): KnownSubject | undefined {
    const known = this.#subjects.get(charge.rule.prefix + charge.subject)
    return known?.periodStartMs === periodOf(charge, nowUs).startMs ? known : undefined
  }

  /** Undefined when there are too many that must not be forgotten. */
  getOrAdd(charge: Charge, nowUs: number): KnownSubject | undefined {
    const known = this.get(charge, nowUs)
    if (known !== undefined) return known
    const key = charge.rule.prefix + charge.subject
    if (!this.#subjects.has(key) && this.#subjects.size >= maxSubjects && !this.#forgetOne(nowUs)) return undefined
    const { startMs } = periodOf(charge, nowUs)
    const made = { periodStartMs: startMs, charge, used: 0, intactSinceUs: -1, unreported: 0, share: undefined }
    this.#subjects.delete(key)
    this.#subjects.set(key, made)
    return made
  }

  /** Those whose usage the store has yet to hear of, of periods that are not over. */
  unreported(nowUs: number): KnownSubject[] {
    return [...this.#subjects.values()].filter(
      ({ unreported, charge, periodStartMs }) => unreported > 0 && periodStartMs === periodOf(charge, nowUs).startMs,
    )
  }

  #forgetOne(nowUs: number): boolean {
    let looked = 0
    for (const [key, { unreported, periodStartMs, charge }] of this.#subjects) {
      if (unreported === 0 || periodStartMs !== periodOf(charge, nowUs).startMs) {
        this.#subjects.delete(key)
        return true
      }
      if (++looked === 100) return false
    }
    return false
  }
}
