import type { Clock } from '../../core/clock.ts'
import type { Answer, Charge, TakeAsk } from '../../core/engine/ask.ts'
import type { ContinuityCheck } from './continuity-check.ts'
import { isOf, type KnownSubject, type KnownSubjects } from './known-subjects.ts'
import type { Source } from './source.ts'
import type { UpToDate } from './up-to-date.ts'

interface Parts {
  readonly subjects: KnownSubjects
  readonly continuity: ContinuityCheck
  readonly upToDate: UpToDate
  readonly sourceOf: (charge: Charge) => Source | undefined
  readonly clock: Clock
}

/**
 * Judges whether a store knew of everything when it answered, and remembers what it counts. A store that has lost
 * counters answers as if nothing had been used.
 */
export class AnswerCheck {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Whether the store is known to know of everything, so that it need only be asked. */
  isReady(ask: TakeAsk): boolean {
    for (const charge of ask.charges) {
      if (this.#parts.sourceOf(charge) !== undefined && this.readySubject(charge) === undefined) return false
    }
    return true
  }

  /** What is known of a subject of which the store knows everything. */
  readySubject(charge: Charge): KnownSubject | undefined {
    const known = this.#parts.subjects.get(charge, this.#parts.clock.now())
    if (known === undefined || known.unreported > 0 || known.share !== undefined) return undefined
    return known.intactSinceUs === this.#parts.continuity.known(charge) ? known : undefined
  }

  /** Whether the store knew of everything when it answered. Remembers what it said. */
  isComplete(ask: TakeAsk, ready: KnownSubject | undefined, answer: Answer): boolean {
    if (!answer.allowed) {
      // What a store has lost only makes room, so it is right to deny.
      this.#endShares(ask, ready)
      return true
    }
    if (ready !== undefined && this.#isCompleteFor(ask, ready, answer)) return true
    for (const charge of ask.charges) {
      if (this.#parts.sourceOf(charge) === undefined) continue
      const known = this.#parts.subjects.get(charge, answer.nowUs)
      if (known === undefined || known.unreported > 0) return false
      if (known.intactSinceUs !== this.#parts.continuity.known(charge)) return false
      // A count that has gone down was lost, or given back elsewhere.
      if (usedAfter(ask, charge, answer) - charge.cost < known.used) return false
    }
    this.#remember(ask, answer)
    return true
  }

  #isCompleteFor(ask: TakeAsk, known: KnownSubject, answer: Answer): boolean {
    const charge = ask.charges[0]!
    const { amount, remaining } = answer.statuses[0]![0]!
    const used = amount - remaining
    if (used - charge.cost < known.used || known.unreported > 0 || !isOf(known, charge, answer.nowUs)) return false
    if (known.intactSinceUs !== this.#parts.continuity.known(charge)) return false
    known.used = used
    known.charge = charge
    known.share = undefined
    return true
  }

  #remember(ask: TakeAsk, answer: Answer): void {
    for (const charge of ask.charges) {
      const known = this.#parts.sourceOf(charge) && this.#parts.subjects.get(charge, answer.nowUs)
      if (known === undefined) continue
      known.charge = charge
      known.used = usedAfter(ask, charge, answer)
      known.share = undefined
    }
  }

  /** The store has answered: what it allows others from now on is not taken off the share of this process. */
  #endShares(ask: TakeAsk, ready: KnownSubject | undefined): void {
    for (const charge of ask.charges) {
      const known = ready ?? this.#parts.subjects.get(charge, this.#parts.clock.now())
      if (known !== undefined && known.unreported === 0) known.share = undefined
    }
  }

  /** Whether the store had lost nothing when it answered. What it counts is remembered then, also if that is less. */
  async wasIntact(ask: TakeAsk, answer: Answer, endMs: number): Promise<boolean> {
    const checks = ask.charges
      .filter((charge) => this.#parts.sourceOf(charge) !== undefined)
      .map(async (charge) => {
        const known = this.#parts.subjects.get(charge, answer.nowUs)
        // What is reported from now on was not known to it.
        if (known === undefined || known.unreported > 0) return false
        const before = known.used
        if (!(await this.#parts.upToDate.isIntact(known, endMs)) || known.unreported > 0) return false
        const used = usedAfter(ask, charge, answer)
        // A later answer is newer.
        known.used = known.used === before ? used : Math.max(known.used, used)
        known.charge = charge
        known.share = undefined
        return true
      })
    return (await Promise.all(checks).catch(() => [false])).every(Boolean)
  }
}

function usedAfter(ask: TakeAsk, charge: Charge, answer: Answer): number {
  const { amount, remaining } = answer.statuses[ask.charges.indexOf(charge)]![0]!
  return amount - remaining
}
