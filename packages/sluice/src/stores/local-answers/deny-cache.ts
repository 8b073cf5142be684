import type { Clock } from '../../core/clock.ts'
import type { Answer, Charge, LimitStatus } from '../../core/engine/ask.ts'
import { findSubject } from '../../core/engine/charge.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { isPlainKey } from '../../core/key.ts'
import type { StoreObserver } from '../store.ts'

export interface DenyCacheOptions {
  /**
   * Longest time a denial is repeated without asking: the bound within which resets and refunds made elsewhere are
   * noticed.
   */
  readonly maxMs: number
  /** Most denials remembered; forgetting one costs a round trip, nothing else. */
  readonly maxSubjects: number
}

/** How many changed subjects are tracked one by one before all asks in flight count as overtaken. */
const maxChanged = 1000

interface Denial {
  readonly limits: LimitSet
  /** Whether the subject is a text that encoding does not change. */
  readonly plain: boolean
  readonly cost: number
  readonly forMs: number
  readonly atMs: number
  readonly atWallMs: number
  readonly first: readonly LimitStatus[]
  readonly nowUs: number
}

/**
 * Refuses without I/O what was just refused: a subject denied until T is denied locally until T for costs at least as
 * large. A smaller cost is asked. What changes a subject in this process is noticed at once, and so is a changed limit;
 * elsewhere within `maxMs`.
 */
export class DenyCache {
  readonly #options: DenyCacheOptions
  /** By rule prefix, then by subject: strings that callers hold on to are hashed once. */
  readonly #denials = new Map<string, Map<string, Denial>>()
  #size = 0
  /** Counts what changed subjects in this process: resets, refunds, settlements. */
  #changes = 0
  /** The last change of each subject, by key; of those left out, none is later than `#changesForgotten`. */
  readonly #changed = new Map<string, number>()
  #changesForgotten = 0
  readonly #observer: Pick<Required<StoreObserver>, 'local'>
  readonly #clock: Pick<Clock, 'wall'>

  constructor(
    options: DenyCacheOptions,
    observer: Pick<Required<StoreObserver>, 'local'>,
    clock: Pick<Clock, 'wall'> = {},
  ) {
    this.#options = options
    this.#observer = observer
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  /** To be noted when something is asked: what changes after that makes its denial worthless. */
  get changes(): number {
    return this.#changes
  }

  /** The denial, where one of the charges is sure to be denied. */
  find(charges: readonly Charge[], nowMs: number): Answer | undefined {
    if (this.#size === 0) return undefined
    for (const charge of charges) {
      const denial = this.#find(charge, nowMs)
      if (denial === undefined) continue
      this.#observer.local('deny-cache', charge.rule.name)
      const passedMs = Math.floor(this.#ageMs(denial, nowMs))
      const limits = denial.first.map((status) => later(status, passedMs))
      // A denial of one charge is the answer to all: the others were not looked at.
      const statuses = charges.length === 1 ? [limits] : charges.map((other) => (other === charge ? limits : []))
      return { allowed: false, granted: 0, nowUs: denial.nowUs, statuses, by: 'deny-cache' }
    }
    return undefined
  }

  #find(charge: Charge, nowMs: number): Denial | undefined {
    const { rule, limits, cost } = charge
    const denial = findSubject(this.#denials.get(rule.prefix), charge)
    if (denial === undefined || cost < denial.cost) return undefined
    if (this.#ageMs(denial, nowMs) >= denial.forMs || denial.limits !== limits) {
      this.#delete(rule.prefix, charge.subject)
      return undefined
    }
    return denial
  }

  /** Learns from the answer to what was asked at `nowMs`, after so many `changes`. */
  remember(charges: readonly Charge[], answer: Answer, nowMs: number, changes: number): void {
    if (answer.allowed || answer.failure !== undefined || changes < this.#changesForgotten) return
    for (const [c, charge] of charges.entries()) {
      if (this.#changes > changes && this.#changedAt(charge) > changes) continue
      const first = answer.statuses[c]!
      let waitMs = 0
      // A permit may come back at any moment (its window is 0), and a cost that never passes says nothing
      // about the subject.
      // What counts denials has to see them, until they have led to a block.
      const isBlock = charge.limits.block?.counts === 'denials'
      for (const { retryAfterMs, windowMs, block = false } of first) {
        if (isBlock && !block) continue
        if (windowMs > 0 && retryAfterMs !== Infinity && retryAfterMs > waitMs) waitMs = retryAfterMs
      }
      // Waits are rounded up to the millisecond, and count from after the ask: the store never allows before this ends.
      const forMs = Math.min(waitMs - 1, this.#options.maxMs)
      if (forMs <= 0) continue
      this.#add(charge, {
        limits: charge.limits,
        plain: isPlainKey(charge.subject),
        cost: charge.cost,
        forMs,
        atMs: nowMs,
        atWallMs: this.#wallMs(),
        first,
        nowUs: answer.nowUs,
      })
    }
  }

  /** The monotonic clock may stand still while a machine is suspended; the store's goes on. */
  #ageMs({ atMs, atWallMs }: Denial, nowMs: number): number {
    return Math.max(nowMs - atMs, this.#wallMs() - atWallMs)
  }

  #wallMs(): number {
    return this.#clock.wall?.() ?? 0
  }

  #add(charge: Charge, denial: Denial): void {
    let subjects = this.#denials.get(charge.rule.prefix)
    if (subjects === undefined) {
      subjects = new Map()
      this.#denials.set(charge.rule.prefix, subjects)
    }
    if (!subjects.has(charge.subject)) {
      if (this.#size >= this.#options.maxSubjects) this.#dropOldest()
      this.#size++
    }
    subjects.set(charge.subject, denial)
  }

  /** Subjects are being changed: denials learned before say nothing any more, nor do those of asks in flight. */
  forget(charges: readonly Charge[]): void {
    this.#changes++
    if (this.#changed.size >= maxChanged) {
      this.#changed.clear()
      this.#changesForgotten = this.#changes
    }
    for (const { rule, subject } of charges) {
      this.#delete(rule.prefix, subject)
      this.#changed.set(rule.prefix + subject, this.#changes)
    }
  }

  #changedAt({ rule, subject }: Charge): number {
    return this.#changed.get(rule.prefix + subject) ?? 0
  }

  #delete(prefix: string, subject: string): void {
    if (this.#denials.get(prefix)?.delete(subject)) this.#size--
  }

  #dropOldest(): void {
    for (const [prefix, subjects] of this.#denials) {
      const oldest = subjects.keys().next()
      if (oldest.done) {
        this.#denials.delete(prefix)
        continue
      }
      subjects.delete(oldest.value)
      this.#size--
      return
    }
  }
}

function later(first: LimitStatus, passedMs: number): LimitStatus {
  const { rule, name, amount, remaining, windowMs, resetMs, retryAfterMs, pace, share, block, period } = first
  const retry = retryAfterMs === 0 ? 0 : Math.max(1, retryAfterMs - passedMs)
  const reset = Math.max(0, resetMs - passedMs)
  if (block) return { rule, name, amount, remaining, windowMs, resetMs: reset, retryAfterMs: retry, block }
  const status = { rule, name, amount, remaining, windowMs, resetMs: reset, retryAfterMs: retry }
  const dated = period === undefined ? status : { ...status, period }
  if (pace !== undefined) return { ...dated, pace }
  return share === undefined ? dated : { ...dated, share }
}
