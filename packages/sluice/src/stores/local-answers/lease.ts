import type { Clock } from '../../core/clock.ts'
import type { Answer, Charge, ChargeTerms, LimitStatus } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { isPlainKey } from '../../core/key.ts'
import type { Store } from '../store.ts'

export interface LeaseOptions {
  /** How much future demand a lease covers. */
  readonly aheadMs: number
  /** Most units drawn at once. */
  readonly maxUnits: number
}

/** Below this many asks per `aheadMs` a lease saves nothing. */
const hotAsks = 4
/** A lease takes at most this part of what is left, so that near the limit it shrinks to nothing. */
const shareOfRemaining = 1 / 16
/** Local clocks and the store's may run apart a little: stop spending this much before the window ends. */
const marginMs = 5
const idleMs = 500

/**
 * The lease on one subject. Units are good only within the window they were drawn from: they end with it, counted from
 * before the draw was sent, on the monotonic clock, and on the wall clock too: the first one stands still while a
 * machine is suspended.
 */
export class Lease {
  readonly #store: Pick<Store, 'decide'>
  readonly #clock: Clock
  readonly #withinMs: number
  readonly #options: LeaseOptions
  readonly #report: (drawn: number, returned: number, stranded: number) => void
  /** Whether the subject is a text that encoding does not change. */
  readonly plain: boolean
  #charge: Charge
  #units = 0
  /** With fewer units than this, more are drawn. */
  #low = 0
  #endsMs = 0
  #wallEndsMs = 0
  #takenUs = 0
  /** The limits as the last draw left them: what is still here counts as remaining on top. */
  #statuses: readonly LimitStatus[] = []
  #statusesMs = 0
  /** The draw in flight; it ends when what it drew is in use or given back. */
  #drawing: Promise<void> | undefined
  /** Grows when units drawn earlier must no longer be used: a draw in flight then comes too late. */
  #epoch = 0
  /** The epoch of the last reset: what was drawn before it is not returned. */
  #resetEpoch = 0
  #asks = 0
  #rate = 0
  #rateMs: number
  #usedMs: number

  constructor(
    charge: Charge,
    store: Pick<Store, 'decide'>,
    withinMs: number,
    options: LeaseOptions,
    clock: Clock,
    report: (drawn: number, returned: number, stranded: number) => void,
  ) {
    this.#charge = changeCharge(charge)
    this.plain = isPlainKey(charge.subject)
    this.#store = store
    this.#withinMs = withinMs
    this.#options = options
    this.#clock = clock
    this.#rateMs = clock.monotonic()
    this.#usedMs = this.#rateMs
    this.#report = report
  }

  /** Spends locally, if the lease has enough; else the store is to be asked. */
  spend({ limits, cost }: ChargeTerms, nowMs: number): Answer | undefined {
    this.#usedMs = nowMs
    this.#measure(cost, nowMs)
    if (this.#charge.limits !== limits) this.#changeLimits(limits)
    if (this.#units > 0 && this.#isOver(nowMs)) this.#strand()
    if (cost > this.#units) return undefined
    this.#units -= cost
    if (this.#units < this.#low) this.#draw(nowMs)
    return this.#answer(nowMs)
  }

  /** Learns from the store's own answer how much is left, and draws when the subject is hot. */
  observe(answer: Answer, nowMs: number): void {
    if (answer.failure !== undefined || !answer.allowed) return
    this.#statuses = answer.statuses[0]!
    this.#statusesMs = nowMs
    if (this.#units === 0) this.#draw(nowMs)
  }

  isIdle(nowMs: number): boolean {
    return this.#drawing === undefined && nowMs - this.#usedMs > idleMs
  }

  /** Forgets the units without returning them: the subject was reset. */
  drop(): void {
    this.#forget()
    this.#resetEpoch = this.#epoch
  }

  /**
   * Returns what is unused, and what a draw in flight still brings. A reply that gets lost strands it until the window
   * ends; it is never returned twice.
   */
  async giveBack(): Promise<void> {
    const [charge, units] = [this.#charge, this.#units]
    this.#forget()
    await Promise.all([this.#refund(charge, units, this.#takenUs, this.#endsMs, this.#wallEndsMs), this.#drawing])
  }

  #forget(): void {
    this.#epoch++
    this.#units = 0
  }

  async #refund(charge: Charge, units: number, takenUs: number, endsMs: number, wallEndsMs: number): Promise<void> {
    if (units === 0) return
    if (this.#clock.monotonic() >= endsMs || this.#wallMs() >= wallEndsMs) {
      this.#report(0, 0, units)
      return
    }
    try {
      const charges = [changeCharge(charge, { cost: units })]
      await this.#store.decide({ kind: 'refund', charges, takenUs }, this.#withinMs)
      this.#report(0, units, 0)
    } catch {
      this.#report(0, 0, units)
    }
  }

  #changeLimits(limits: LimitSet): void {
    this.giveBack()
    this.#charge = changeCharge(this.#charge, { limits })
    this.#statuses = []
  }

  #isOver(nowMs: number): boolean {
    return nowMs >= this.#endsMs || this.#wallMs() >= this.#wallEndsMs
  }

  #wallMs(): number {
    return this.#clock.wall?.() ?? 0
  }

  #strand(): void {
    this.#report(0, 0, this.#units)
    this.#forget()
  }

  /** The demand in units per `aheadMs`, smoothed a little. */
  #measure(cost: number, nowMs: number): void {
    this.#asks += cost
    const passed = nowMs - this.#rateMs
    if (passed < this.#options.aheadMs) return
    const latest = (this.#asks * this.#options.aheadMs) / passed
    this.#rate = this.#rate === 0 ? latest : (this.#rate + latest) / 2
    this.#asks = 0
    this.#rateMs = nowMs
    this.#low = this.#wanted() / 2
  }

  #wanted(): number {
    const demand = Math.max(this.#rate, this.#asks)
    if (demand < hotAsks || this.#statuses.length === 0) return 0
    let remaining = Infinity
    for (const status of this.#statuses) remaining = Math.min(remaining, status.remaining)
    return Math.floor(Math.min(2 * demand, remaining * shareOfRemaining, this.#options.maxUnits))
  }

  #draw(nowMs: number): void {
    const copies = this.#wanted()
    if (this.#drawing !== undefined || copies < 2) return
    const epoch = this.#epoch
    const wallMs = this.#wallMs()
    const charge = changeCharge(this.#charge, { cost: 1 })
    const ask = { kind: 'take', charges: [charge], copies, hold: undefined } as const
    this.#drawing = Promise.resolve(this.#store.decide(ask, this.#withinMs))
      .then(
        (answer) => this.#drawn(answer, charge, epoch, nowMs, wallMs),
        () => undefined,
      )
      .finally(() => {
        this.#drawing = undefined
      })
  }

  async #drawn(answer: Answer, charge: Charge, epoch: number, askedMs: number, askedWallMs: number): Promise<void> {
    if (answer.failure !== undefined || answer.granted === 0) return
    this.#report(answer.granted, 0, 0)
    const statuses = answer.statuses[0]!
    const lifeMs = Math.min(...statuses.map((status) => status.resetMs)) - 1 - marginMs
    const [endsMs, wallEndsMs] = [askedMs + lifeMs, askedWallMs + lifeMs]
    if (epoch < this.#resetEpoch) {
      this.#report(0, 0, answer.granted)
      return
    }
    if (epoch !== this.#epoch) return this.#refund(charge, answer.granted, answer.nowUs, endsMs, wallEndsMs)
    // Units of an earlier window that ended while this draw was in flight must not live on under the new end.
    if (this.#units > 0 && this.#isOver(this.#clock.monotonic())) this.#strand()
    this.#endsMs = this.#units > 0 ? Math.min(this.#endsMs, endsMs) : endsMs
    this.#wallEndsMs = this.#units > 0 ? Math.min(this.#wallEndsMs, wallEndsMs) : wallEndsMs
    this.#units += answer.granted
    this.#takenUs = answer.nowUs
    this.#statuses = statuses
    this.#statusesMs = askedMs
    this.#low = this.#wanted() / 2
  }

  #answer(nowMs: number): Answer {
    const passedMs = Math.floor(nowMs - this.#statusesMs)
    const known = this.#statuses
    // Each limit is written out: copying one and changing three fields costs several times as much.
    const statuses = new Array<LimitStatus>(known.length)
    for (let l = 0; l < known.length; l++) {
      const { rule, name, amount, remaining, windowMs, resetMs, period } = known[l]!
      const left = resetMs > passedMs ? resetMs - passedMs : 0
      const status = {
        rule,
        name,
        amount,
        remaining: remaining + this.#units,
        windowMs,
        resetMs: left,
        retryAfterMs: 0,
      }
      statuses[l] = period === undefined ? status : { ...status, period }
    }
    return { allowed: true, granted: 1, nowUs: this.#takenUs + passedMs * 1000, statuses: [statuses], by: 'lease' }
  }
}
