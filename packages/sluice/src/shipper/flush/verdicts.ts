import { eventId } from '../log/segment/segment-name.ts'
import type { StoredEvent } from '../log/segment/stored-event.ts'
import type { Rejection } from '../rejected/rejected-file.ts'
import type { EventResult } from './answers.ts'
import { resultsById } from './answers.ts'

/** `held`: refused, but not set aside while the server accepts nothing at all. */
type Verdict = 'sent' | 'duplicate' | { readonly reason: string; held: boolean }

/** Records that these events, the next ones in order, are complete; `refusalsInRow` counts those up to now. */
export type Done = (
  events: readonly StoredEvent[],
  rejections: readonly Rejection[],
  refusalsInRow: number,
) => Promise<void>

/**
 * What the server decided about the events of one batch. They are recorded in order, because the checkpoint is a single
 * position. After `maxRefusals` refused events in a row a refusal is only held: it counts once the server accepts
 * another event, because until then the server may be at fault.
 */
export class Verdicts {
  readonly #events: readonly StoredEvent[]
  readonly #maxRefusals: number
  readonly #verdicts = new Map<StoredEvent, Verdict>()
  #held: { held: boolean }[] = []
  #refusalsInRow: number
  #hasAccepted = false
  #recorded = 0
  #lastReason = ''
  readonly counts = { sent: 0, duplicates: 0, rejected: 0 }

  constructor(events: readonly StoredEvent[], refusalsInRow: number, maxRefusals: number) {
    this.#events = events
    this.#refusalsInRow = refusalsInRow
    this.#maxRefusals = maxRefusals
  }

  /** Whether the server has accepted any event of the batch. */
  get hasAccepted(): boolean {
    return this.#hasAccepted
  }

  get held(): number {
    return this.#held.length
  }

  /** Whether the server has refused so many events in a row that it counts as failing. */
  get isFailing(): boolean {
    return this.#refusalsInRow >= this.#maxRefusals
  }

  /** Why the last event was refused. */
  get lastReason(): string {
    return this.#lastReason
  }

  reject(event: StoredEvent, reason: string): void {
    this.#lastReason = reason
    const verdict = { reason, held: this.isFailing }
    if (verdict.held) this.#held.push(verdict)
    else this.#refusalsInRow++
    this.#verdicts.set(event, verdict)
  }

  /** Takes an answer per event, or one for all; returns the events that the server wants again. */
  take(events: readonly StoredEvent[], results: readonly EventResult[] | undefined): readonly StoredEvent[] {
    const byId = results && resultsById(results)
    const answers = events.map((event) => {
      const { status, reason }: Partial<EventResult> =
        byId === undefined ? { status: 'ok' } : (byId.get(eventId(event.producer, event.seq)) ?? {})
      return { event, status: status ?? 'retry', reason }
    })
    // First the rejected ones: another event accepted by the same answer shows that the server is not at fault.
    for (const { event, status, reason } of answers) {
      if (status === 'rejected') this.reject(event, reason ?? 'rejected by the server')
    }
    for (const { event, status } of answers) {
      if (status === 'ok' || status === 'duplicate') this.#accept(event, status === 'ok' ? 'sent' : 'duplicate')
    }
    return answers.filter(({ status }) => status === 'retry').map(({ event }) => event)
  }

  /** Records what comes before the first event that is undecided or held. */
  async record(done: Done): Promise<void> {
    const rejections: Rejection[] = []
    const counts = { ...this.counts }
    let to = this.#recorded
    for (; to < this.#events.length; to++) {
      const event = this.#events[to]!
      const verdict = this.#verdicts.get(event)
      if (verdict === undefined || (typeof verdict === 'object' && verdict.held)) break
      if (typeof verdict === 'object') rejections.push({ event, reason: verdict.reason })
      else counts[verdict === 'sent' ? 'sent' : 'duplicates']++
    }
    if (to === this.#recorded) return
    await done(this.#events.slice(this.#recorded, to), rejections, this.#refusalsInRow)
    this.#recorded = to
    Object.assign(this.counts, counts, { rejected: counts.rejected + rejections.length })
  }

  #accept(event: StoredEvent, verdict: 'sent' | 'duplicate'): void {
    this.#verdicts.set(event, verdict)
    this.#hasAccepted = true
    this.#refusalsInRow = 0
    for (const refusal of this.#held) refusal.held = false
    this.#held = []
  }
}
