import type { Clock } from '../../core/clock.ts'
import { show } from '../../core/errors.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { unknownCapacity } from '../backoff/state.ts'
import { eventId } from '../log/segment/segment-name.ts'
import { payloadOf, type StoredEvent } from '../log/segment/stored-event.ts'
import { answerOf, type CapacityAnswer, type EventResult, orFailed, readCapacity, type SendAnswer } from './answers.ts'

/** Where batches go. It never throws: every fault is an answer. */
export interface Transport {
  /** `after` is the last event of the batch before it, if that one is still in flight. */
  send(events: readonly StoredEvent[], signal: AbortSignal, after?: string): Promise<SendAnswer>
  capacity(pending: number, signal: AbortSignal): Promise<CapacityAnswer>
}

/** An event as passed to a user's function. */
export interface OutgoingEvent {
  readonly id: string
  readonly data: unknown
}

/**
 * What such a function may return; nothing means that all are accepted. If it throws, that is a failure, retried later.
 */
export interface SendResult {
  /** An HTTP status; 200 when left out. */
  readonly status?: number
  readonly retryAfterMs?: number
  readonly reason?: string
  readonly results?: readonly EventResult[]
}

export type Send = (
  events: readonly OutgoingEvent[],
  context: { readonly signal: AbortSignal; readonly after?: string | undefined },
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing accepts all
) => Promise<SendResult | undefined | void>

export type AskCapacity = (context: { readonly pending: number; readonly signal: AbortSignal }) => Promise<unknown>

export interface CustomTransportOptions {
  readonly send: Send
  readonly capacity: AskCapacity | undefined
  readonly timeoutMs: number
  readonly clock: Clock
}

/** A transport made of the user's functions. */
export function customTransport(options: CustomTransportOptions): Transport {
  const { send, capacity: askCapacity, timeoutMs, clock } = options
  const inTime = <T>(signal: AbortSignal, run: (inner: AbortSignal) => Promise<T>): Promise<T> =>
    withTimeLimit(clock, timeoutMs, signal, run)
  return {
    send: (events, signal, after) =>
      orFailed(async () => {
        const outgoing = events.map((event) => ({
          id: eventId(event.producer, event.seq),
          data: JSON.parse(payloadOf(event).toString()) as unknown,
        }))
        const result = (await inTime(signal, (inner) => send(outgoing, { signal: inner, after }))) ?? {}
        // Such as a bare status: to take it for nothing would accept what the server refused.
        if (typeof result !== 'object')
          throw new Error(`send() returned ${show(result)}; return nothing, or an object such as { status: 200 }`)
        const { status = 200, reason = `status ${status}`, retryAfterMs } = result
        return answerOf(status, reason, retryAfterMs, result)
      }),
    capacity: (pending, signal) =>
      orFailed(async () => {
        if (askCapacity === undefined) return { kind: 'capacity', capacity: unknownCapacity }
        const capacity = readCapacity(await inTime(signal, (inner) => askCapacity({ pending, signal: inner })))
        if (capacity === undefined) throw new Error('capacity() must return { ready: true or false }')
        const { retryAfter } = capacity
        return { kind: 'capacity', capacity, retryAfterMs: retryAfter === null ? undefined : retryAfter * 1000 }
      }),
  }
}

/**
 * Runs a function with a signal that is aborted when its time is up, or when the caller's signal is. It rejects then
 * even if the function ignores the signal: a user's function that never settles must not prevent the shipper from
 * closing. Until then it keeps the process alive, as the caller waits.
 */
export async function withTimeLimit<T>(
  clock: Clock,
  ms: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted()
  const own = new AbortController()
  // A function in plain JavaScript may throw, or return its answer as it is.
  const work = async (): Promise<T> => run(own.signal)
  return withinTime(work(), {
    ms,
    clock,
    late: () => new Error(`no answer within ${ms} ms`),
    signal: outer,
    givenUp: (reason) => own.abort(reason),
  })
}
