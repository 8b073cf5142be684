import type { Period } from '../../core/algorithms/calendar-period.ts'
import type { Clock } from '../../core/clock.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'
import type { Store } from '../store.ts'
import type { ContinuityCheck } from './continuity-check.ts'
import { isOf, type KnownSubject, type KnownSubjects } from './known-subjects.ts'
import type { Source } from './source.ts'

/**
 * Whether a store has all usage of a subject. `complete`: it had all. `corrected`: it has all, now that the rest was
 * written. `incomplete`: it has not, so the source of truth has to decide.
 */
export type StoreState = 'complete' | 'corrected' | 'incomplete'

interface Parts {
  readonly store: Pick<Store, 'decide'>
  readonly continuity: ContinuityCheck
  readonly subjects: KnownSubjects
  readonly clock: Clock
  /** The count of the source was written to a store that had lost its counter. */
  readonly onRaised: (charge: Charge) => void
}

/** Sees to it that the store counts at least what the source of truth and this process know of a subject. */
export class UpToDate {
  readonly #parts: Parts
  readonly #flights = new SingleFlight<string, StoreState>()
  #raises = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** How many subjects have been raised. Shows which takes were sent before a raise, see `KnownSubject.raise`. */
  get raises(): number {
    return this.#raises
  }

  /**
   * Callers that ask for the same subject meanwhile share the answer. Rejects with a `StoreError` when the store does
   * not answer, or the source does not (`source`).
   */
  bring(charge: Charge, source: Source, endMs: number): Promise<StoreState> {
    return this.#flights.join(nameOf(charge), () => this.#bring(charge, source, endMs))
  }

  /** The same for a caller whom the store has answered: earlier checks do not count. */
  bringAgain(charge: Charge, source: Source, endMs: number): Promise<StoreState> {
    return this.#flights.startLater(nameOf(charge), () => this.#bring(charge, source, endMs))
  }

  /** Whether the store has lost nothing of a subject between when it was last up to date and this call. */
  async isIntact(subject: KnownSubject, endMs: number): Promise<boolean> {
    // A store that is brought up to date meanwhile was not when it answered.
    const { intactSinceUs } = subject
    const sinceUs = await this.#parts.continuity.askAgain(subject.charge, this.#storeMs(endMs))
    return hasKeptAll(subject.period, intactSinceUs, sinceUs)
  }

  async #bring(charge: Charge, source: Source, endMs: number): Promise<StoreState> {
    const { continuity, subjects, clock } = this.#parts
    const sinceUs = await continuity.askAgain(charge, this.#storeMs(endMs))
    const subject = subjects.getOrAdd(charge, clock.now())
    if (subject === undefined)
      throw new StoreError('full', `Too many subjects of ${charge.rule.name} wait for the store.`)
    const isIntact = hasKeptAll(subject.period, subject.intactSinceUs, sinceUs)
    if (!isIntact && !source.counts) return 'incomplete'
    const state = isIntact ? await this.#report(subject, endMs) : await this.#raise(subject, source, endMs)
    subject.intactSinceUs = sinceUs
    subject.share = undefined
    return state
  }

  /** The store may take a quarter of the time that is left: a store that hangs must not use up that of the source. */
  #storeMs(endMs: number): number {
    return Math.max(1, (endMs - this.#parts.clock.monotonic()) / 4)
  }

  /**
   * Adds what was admitted without the store. A report whose reply was lost is made again: rather too strict than too
   * lax.
   */
  async #report(subject: KnownSubject, endMs: number): Promise<StoreState> {
    const units = subject.unreported
    if (units === 0) return 'complete'
    await this.#tell(subject, units, async () => {
      await this.#parts.store.decide({ kind: 'debit', charges: [subject.charge], units: [units] }, this.#storeMs(endMs))
    })
    return 'corrected'
  }

  /**
   * The store has lost what it knew: what the source has counted, and what this process has seen, is the least that was
   * used.
   */
  async #raise(subject: KnownSubject, source: Source, endMs: number): Promise<StoreState> {
    const { store } = this.#parts
    const counted = await source.count(subject.charge, endMs - this.#storeMs(endMs))
    subject.used = Math.max(counted, subject.used)
    const units = subject.used
    if (units === 0) return 'corrected'
    subject.raise = ++this.#raises
    await this.#tell(subject, subject.unreported, async () => {
      await store.decide({ kind: 'raise', charges: [subject.charge], units }, this.#storeMs(endMs))
    })
    this.#parts.onRaised(subject.charge)
    return 'corrected'
  }

  /** Writes `units` to the store that it does not have. What is admitted meanwhile is written the next time. */
  async #tell(subject: KnownSubject, units: number, send: () => Promise<void>): Promise<void> {
    // What was used in a period that has ended must not be charged to the next one.
    if (!isOf(subject, subject.charge, this.#parts.clock.now()))
      throw new StoreError('other', `The period of ${subject.charge.rule.name} has ended.`)
    subject.reporting += units
    try {
      await send()
      subject.unreported = Math.max(0, subject.unreported - units)
    } finally {
      subject.reporting -= units
    }
  }
}

function nameOf({ rule, subject }: Charge): string {
  return rule.prefix + subject
}

/**
 * Whether a store that has been intact since `sinceUs`, and had everything when it was intact since `knownUs`, has lost
 * nothing of the period. A store without that ability is never trusted.
 */
function hasKeptAll(period: Period, knownUs: number, sinceUs: number): boolean {
  return sinceUs <= period.startMs * 1000 || (sinceUs === knownUs && sinceUs !== Infinity)
}
