import type { Clock } from '../../core/clock.ts'
import { show } from '../../core/errors.ts'
import { unknownCapacity } from '../backoff/state.ts'
import { eventId } from '../log/segment/segment-name.ts'
import { payloadOf, type StoredEvent } from '../log/segment/stored-event.ts'
import {
  answerOf,
  type CapacityAnswer,
  type EventResult,
  readCapacity,
  readResults,
  type SendAnswer,
} from './answers.ts'
import { withTimeLimit } from './time-limit.ts'

/** Where batches go. It never throws: every fault is an answer. */
export interface Transport {
  send(events: readonly StoredEvent[], signal: AbortSignal): Promise<SendAnswer>
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
  context: { readonly signal: AbortSignal },
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
  return {
    async send(events, signal) {
      try {
        const outgoing = events.map((event) => ({
          id: eventId(event.producer, event.seq),
          data: JSON.parse(payloadOf(event).toString()) as unknown,
        }))
        const result =
          (await withTimeLimit(clock, timeoutMs, signal, (inner) => send(outgoing, { signal: inner }))) ?? {}
        // Such as a bare status: to take it for nothing would accept what the server refused.
        if (typeof result !== 'object') {
          const reason = `send() returned ${show(result)}; return nothing, or an object such as { status: 200 }`
          return { kind: 'failed', reason }
        }
        const status = result.status ?? 200
        const answer = answerOf(status, result.reason ?? `status ${status}`, result.retryAfterMs)
        const results = answer.kind === 'accepted' ? readResults(result) : undefined
        return results === undefined ? answer : { kind: 'accepted', results }
      } catch (error) {
        return { kind: 'failed', reason: messageOf(error) }
      }
    },
    async capacity(pending, signal) {
      if (askCapacity === undefined) return { kind: 'capacity', capacity: unknownCapacity }
      try {
        const ask = (inner: AbortSignal): Promise<unknown> => askCapacity({ pending, signal: inner })
        const capacity = readCapacity(await withTimeLimit(clock, timeoutMs, signal, ask))
        if (capacity === undefined) return { kind: 'failed', reason: 'capacity() must return { ready: true or false }' }
        const { retryAfter } = capacity
        return { kind: 'capacity', capacity, retryAfterMs: retryAfter === null ? undefined : retryAfter * 1000 }
      } catch (error) {
        return { kind: 'failed', reason: messageOf(error) }
      }
    },
  }
}

/** The innermost cause, which is the useful one: `fetch failed` is caused by `connect ECONNREFUSED`. */
export function messageOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Error) return messageOf(cause)
  if (!(error instanceof Error)) return String(error)
  return error.message !== '' ? error.message : String((error as { code?: unknown }).code ?? error.name)
}
