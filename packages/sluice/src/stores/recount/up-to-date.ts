import type { Clock } from '../../core/clock.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import type { Store } from '../store.ts'
import type { ContinuityCheck } from './continuity-check.ts'
import type { KnownSubject, KnownSubjects } from './known-subjects.ts'
import type { Source } from './source.ts'

/**
 * What a store knows of a subject: `complete`, everything, as it was; `corrected`, everything, now that it has been
 * told; `incomplete`, not what the source of truth knows, which has to decide; `unknown`, as the source did not answer.
 */
export type StoreState = 'complete' | 'corrected' | 'incomplete' | 'unknown'

interface Parts {
  readonly store: Pick<Store, 'decide'>
  readonly continuity: ContinuityCheck
  readonly subjects: KnownSubjects
  readonly clock: Clock
}

/** Sees to it that the store counts at least what the source of truth and this process know of a subject. */
export class UpToDate {
  readonly #parts: Parts
  readonly #running = new Map<string, Promise<StoreState>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Whoever asks for the same subject meanwhile shares the answer. Rejects with a `StoreError` when the store does not
   * answer.
   */
  bring(charge: Charge, source: Source, endMs: number): Promise<StoreState> {
    const key = charge.rule.prefix + charge.subject
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const made = this.#bring(charge, source, endMs).finally(() => this.#running.delete(key))
    this.#running.set(key, made)
    return made
  }

  async #bring(charge: Charge, source: Source, endMs: number): Promise<StoreState> {
    const { continuity, subjects, clock } = this.#parts
    const sinceUs = await continuity.ask(charge, this.#storeMs(endMs))
    const subject = subjects.getOrAdd(charge, clock.now())
    if (subject === undefined)
      throw new StoreError('full', `Too many subjects of ${charge.rule.name} wait for the store.`)
    // A store that cannot tell is asked about only when there is reason to doubt it.
    const isAsBefore = sinceUs === subject.intactSinceUs && sinceUs !== Infinity
    const isIntact = isAsBefore || sinceUs <= subject.period.startMs * 1000
    if (!isIntact && !source.counts) return 'incomplete'
    const state = isIntact ? await this.#report(subject, endMs) : await this.#raise(subject, source, endMs)
    if (state === 'unknown') return state
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
    await this.#parts.store.decide({ kind: 'debit', charges: [subject.charge], units: [units] }, this.#storeMs(endMs))
    subject.unreported -= units
    return 'corrected'
  }

  /**
   * The store has lost what it knew: what the source has counted, and what this process has seen, is the least that was
   * used.
   */
  async #raise(subject: KnownSubject, source: Source, endMs: number): Promise<StoreState> {
    const { store } = this.#parts
    const counted = await source.count(subject.charge, endMs - this.#storeMs(endMs)).catch(() => undefined)
    if (counted === undefined) return 'unknown'
    const reported = subject.unreported
    const units = Math.max(counted, subject.used)
    if (units > 0) await store.decide({ kind: 'raise', charges: [subject.charge], units }, this.#storeMs(endMs))
    subject.unreported -= reported
    subject.used = units
    return 'corrected'
  }
}
