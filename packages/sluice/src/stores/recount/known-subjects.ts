import { calendarPeriod, type Period } from '../../core/algorithms/calendar-period.ts'
import type { Ask, Charge, ChargeTerms } from '../../core/engine/ask.ts'

/**
 * Most subjects that are remembered. A forgotten one costs a count of the source, unless the store has yet to hear of
 * its usage.
 */
const maxSubjects = 50_000

/** What this process knows about a subject in the present period. */
export interface KnownSubject {
  readonly period: Period
  charge: Charge
  /** The most that was known to be used, by the store or by the source and what was admitted since. */
  used: number
  /** Since when the store was intact when it was last found to know of everything; -1 when it never was. */
  intactSinceUs: number
  /** Units admitted without the store that it has not confirmed yet. */
  unreported: number
  /** Those of them that are being written to the store: they cannot be taken back any more. */
  reporting: number
  /**
   * The number of the last `raise` of this subject. What was taken before it must not be given back after it: the
   * raised counter does not have those units on top.
   */
  raise: number
  /**
   * How many more units this process may admit without the store, of which amount. Undefined until the source has
   * counted, and again as soon as the store has answered: what it allows is not taken off.
   */
  share: { left: number; readonly amount: number } | undefined
}

/** The subjects of recounted rules; of each only the present period. */
export class KnownSubjects {
  /** By rule prefix, then by subject: strings that callers hold on to are hashed once. */
  readonly #subjects = new Map<string, Map<string, KnownSubject>>()
  #size = 0

  /** Undefined when nothing is known of the subject in this period. */
  get(charge: Charge, nowUs: number): KnownSubject | undefined {
    const known = this.#subjects.get(charge.rule.prefix)?.get(charge.subject)
    return known !== undefined && isOf(known, charge, nowUs) ? known : undefined
  }

  /** Undefined when there are too many that must not be forgotten. */
  getOrAdd(charge: Charge, nowUs: number): KnownSubject | undefined {
    const known = this.get(charge, nowUs)
    if (known !== undefined) return known
    const { prefix } = charge.rule
    let subjects = this.#subjects.get(prefix)
    if (subjects === undefined) {
      subjects = new Map()
      this.#subjects.set(prefix, subjects)
    }
    if (!subjects.has(charge.subject)) {
      if (this.#size >= maxSubjects && !this.#forgetOne(nowUs)) return undefined
      this.#size += 1
    }
    const made: KnownSubject = {
      period: periodOf(charge, nowUs),
      charge,
      used: 0,
      intactSinceUs: -1,
      unreported: 0,
      reporting: 0,
      raise: 0,
      share: undefined,
    }
    subjects.delete(charge.subject)
    subjects.set(charge.subject, made)
    return made
  }

  /** Those whose usage is not in the store yet, of periods that are not over. */
  unreported(nowUs: number): KnownSubject[] {
    const all = [...this.#subjects.values()].flatMap((subjects) => [...subjects.values()])
    return all.filter((known) => known.unreported > 0 && isOf(known, known.charge, nowUs))
  }

  #forgetOne(nowUs: number): boolean {
    let looked = 0
    for (const subjects of this.#subjects.values()) {
      for (const [subject, known] of subjects) {
        if (known.unreported === 0 || !isOf(known, known.charge, nowUs)) {
          subjects.delete(subject)
          this.#size -= 1
          return true
        }
        if (++looked === 100) return false
      }
    }
    return false
  }
}

/** Whether what is known is about the period of a charge at an instant. */
export function isOf({ period, charge: last }: KnownSubject, charge: Charge, nowUs: number): boolean {
  if (charge.limits !== last.limits) return period.startMs === periodOf(charge, nowUs).startMs
  return nowUs >= period.startMs * 1000 && nowUs < period.endMs * 1000
}

/** The calendar period of a charge's only limit. */
export function periodOf({ limits }: ChargeTerms, nowUs: number): Period {
  const { calendar, zone } = limits.limits[0]!
  return calendarPeriod(calendar!, zone!, Math.floor(nowUs / 1000))
}

/**
 * Remembers that an ask other than a take has changed its subjects, so that smaller usage does not look like a loss.
 * How much of a hold came back is not known here: the next take finds out whether less is used, or was lost.
 */
export function noteChange(ask: Ask, subjects: KnownSubjects, nowUs: number): void {
  for (const charge of ask.charges) {
    const known = subjects.get(charge, nowUs)
    if (known === undefined) continue
    if (ask.kind === 'refund') known.used = Math.max(0, known.used - charge.cost)
    if (ask.kind === 'reset') {
      known.used = 0
      known.unreported = 0
      known.share = undefined
    }
  }
}
