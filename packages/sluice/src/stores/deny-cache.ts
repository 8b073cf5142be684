import type { Answer, Ask, Charge, LimitStatus } from '../core/ask.ts'
import type { LimitSet } from '../core/limit-set.ts'
import type { Store, StoreHealth, StoreObserver } from './store.ts'

export interface DenyCacheOptions {
  /** Longest time a denial is repeated without asking: the bound within which resets and refunds made elsewhere are noticed. */
  readonly maxMs: number
  /** Most denials remembered; forgetting one costs a round trip, nothing else. */
  readonly maxSubjects: number
}

interface Denial {
  readonly limits: LimitSet
  readonly cost: number
  readonly untilMs: number
  readonly atMs: number
  readonly first: readonly LimitStatus[]
  /** What is answered at present; made anew when a millisecond has passed. */
  answer: Answer
  answerMs: number
}

/**
 * Refuses without I/O what was just refused: a subject denied until T is denied locally until T for costs at least as large. A smaller
 * cost is asked. What changes a subject in this process is noticed at once, and so is a changed limit; elsewhere within `maxMs`.
 */
export function denyCache(store: Store, options: DenyCacheOptions): Store {
  return new DenyCache(store, options)
}

class DenyCache implements Store {
  readonly name: string
  readonly #store: Store
  readonly #options: DenyCacheOptions
  /** By rule prefix, then by subject: strings that callers hold on to are hashed once. */
  readonly #denials = new Map<string, Map<string, Denial>>()
  #size = 0
  #observer: StoreObserver | undefined

  constructor(store: Store, options: DenyCacheOptions) {
    this.name = store.name
    this.#store = store
    this.#options = options
  }

  watch(observer: StoreObserver): void {
    this.#observer = observer
    this.#store.watch?.(observer)
  }

  decide(ask: Ask, withinMs: number): Answer | Promise<Answer> {
    if (ask.kind !== 'take') {
      if (ask.kind !== 'peek') this.#forget(ask.charges)
      return this.#store.decide(ask, withinMs)
    }
    const nowMs = performance.now()
    if (this.#size > 0) {
      for (const charge of ask.charges) {
        const denial = this.#find(charge, nowMs)
        if (denial !== undefined) {
          this.#observer?.local?.('deny-cache', charge.rule.name)
          return ask.charges.length === 1 ? denial.answer : among(ask.charges, charge, denial.answer)
        }
      }
    }
    const answer = this.#store.decide(ask, withinMs)
    if (!(answer instanceof Promise)) {
      if (!answer.allowed) this.#remember(ask.charges, answer, nowMs)
      return answer
    }
    return answer.then((settled) => {
      if (!settled.allowed) this.#remember(ask.charges, settled, nowMs)
      return settled
    })
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#store.health(withinMs)
  }

  close(): Promise<void> {
    this.#denials.clear()
    this.#size = 0
    return this.#store.close()
  }

  #find(charge: Charge, nowMs: number): Denial | undefined {
    const denial = this.#denials.get(charge.rule.prefix)?.get(charge.subject)
    if (denial === undefined || charge.cost < denial.cost) return undefined
    if (nowMs >= denial.untilMs || denial.limits !== charge.limits) {
      this.#forget([charge])
      return undefined
    }
    if (nowMs - denial.answerMs >= 1) {
      const passedMs = Math.floor(nowMs - denial.atMs)
      denial.answerMs = nowMs
      const { nowUs } = denial.answer
      const statuses = [denial.first.map((status) => later(status, passedMs))]
      denial.answer = { allowed: false, granted: 0, nowUs, statuses }
    }
    return denial
  }

  #remember(charges: readonly Charge[], answer: Answer, nowMs: number): void {
    if (answer.failure !== undefined) return
    for (const [c, charge] of charges.entries()) {
      const first = answer.statuses[c]!
      let waitMs = 0
      // A place in flight may come back at any moment (its window is 0), and a cost that never passes says nothing about the subject.
      for (const { retryAfterMs, windowMs } of first) {
        if (windowMs > 0 && retryAfterMs !== Infinity && retryAfterMs > waitMs) waitMs = retryAfterMs
      }
      if (waitMs === 0) continue
      const untilMs = nowMs + Math.min(waitMs, this.#options.maxMs)
      const denied: Answer = { allowed: false, granted: 0, nowUs: answer.nowUs, statuses: [first] }
      this.#add(charge, {
        limits: charge.limits,
        cost: charge.cost,
        untilMs,
        atMs: nowMs,
        first,
        answer: denied,
        answerMs: nowMs,
      })
    }
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

  #forget(charges: readonly Charge[]): void {
    for (const { rule, subject } of charges) if (this.#denials.get(rule.prefix)?.delete(subject)) this.#size--
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

function later(
  { rule, name, amount, remaining, windowMs, resetMs, retryAfterMs }: LimitStatus,
  passedMs: number,
): LimitStatus {
  const retry = retryAfterMs === 0 ? 0 : Math.max(1, retryAfterMs - passedMs)
  return { rule, name, amount, remaining, windowMs, resetMs: Math.max(0, resetMs - passedMs), retryAfterMs: retry }
}

/** A denial of one charge as the answer to all: the others were not looked at. */
function among(charges: readonly Charge[], denied: Charge, answer: Answer): Answer {
  return { ...answer, statuses: charges.map((charge) => (charge === denied ? answer.statuses[0]! : [])) }
}
