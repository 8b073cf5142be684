import { type Capacity, unknownCapacity } from '../backoff/state.ts'

/** The server's answer about one event of a batch. */
export interface EventResult {
  readonly id: string
  readonly status: 'ok' | 'duplicate' | 'retry' | 'rejected'
  readonly reason?: string
}

/** The result of sending a batch. */
export type SendAnswer =
  | { readonly kind: 'accepted'; readonly results?: readonly EventResult[] }
  | { readonly kind: 'overloaded'; readonly retryAfterMs: number | undefined; readonly reason: string }
  | { readonly kind: 'too-large'; readonly reason: string }
  /** Sending the same again would be refused again. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The server is not meant for us, or not there: nothing is wrong with the events. */
  | { readonly kind: 'turned-away'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/** The result of a capacity request. */
export type CapacityAnswer =
  | { readonly kind: 'capacity'; readonly capacity: Capacity; readonly retryAfterMs?: number | undefined }
  | Exclude<SendAnswer, { kind: 'accepted' | 'too-large' | 'refused' }>

/** Transient, whatever the class of the status suggests: a timeout, a conflict, a lock, a connection closed early. */
const transientStatuses = [408, 409, 423, 425, 499]
/** About the account or the address: every event would be refused, so they stop the shipper and set nothing aside. */
const turnedAwayStatuses = [401, 402, 403, 404, 405, 407, 410, 421, 426, 451]

/** The answer to a batch, by its status and, where it was accepted, by what the body says about single events. */
export function answerOf(status: number, reason: string, retryAfterMs: number | undefined, body?: unknown): SendAnswer {
  if (status >= 200 && status < 300) {
    const results = readResults(body)
    return results === undefined ? { kind: 'accepted' } : { kind: 'accepted', results }
  }
  if (status === 429 || status === 503) return { kind: 'overloaded', retryAfterMs, reason }
  if (status === 413) return { kind: 'too-large', reason }
  if (turnedAwayStatuses.includes(status)) return { kind: 'turned-away', reason }
  if (status >= 400 && status < 500 && !transientStatuses.includes(status)) return { kind: 'refused', reason }
  return { kind: 'failed', reason }
}

/** The answer to a capacity request. */
export function capacityAnswerOf(
  status: number,
  body: unknown,
  reason: string,
  retryAfterMs: number | undefined,
): CapacityAnswer {
  if (status === 404 || status === 405) return { kind: 'capacity', capacity: unknownCapacity }
  if (status === 503) {
    const capacity = { ...(readCapacity(body) ?? unknownCapacity), ready: false }
    return { kind: 'capacity', capacity, retryAfterMs: retryAfterMs ?? inMs(capacity.retryAfter) }
  }
  const answer = answerOf(status, reason, retryAfterMs)
  if (answer.kind === 'accepted') {
    const capacity = readCapacity(body)
    if (capacity === undefined) return { kind: 'failed', reason: 'the answer about capacity is not what was asked for' }
    return { kind: 'capacity', capacity, retryAfterMs: inMs(capacity.retryAfter) ?? retryAfterMs }
  }
  return answer.kind === 'too-large' || answer.kind === 'refused' ? { kind: 'failed', reason } : answer
}

/**
 * Whether the body of an answer is a web page, whatever its content type: of a captive portal, a proxy, or a wrong
 * address. Its first visible character is `<`, which no JSON begins with; a mark of the byte order may come before it.
 */
export const isPage = (text: string): boolean => /^[^\x21-\x7e]*</.test(text)

/** Runs what asks a server; every fault is an answer. */
export async function orFailed<T>(ask: () => Promise<T>): Promise<T | { kind: 'failed'; reason: string }> {
  try {
    return await ask()
  } catch (error) {
    return { kind: 'failed', reason: messageOf(error) }
  }
}

/** The innermost cause, which is the useful one: `fetch failed` is caused by `connect ECONNREFUSED`. */
export function messageOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Error) return messageOf(cause)
  if (!(error instanceof Error)) return String(error)
  return error.message !== '' ? error.message : String((error as { code?: unknown }).code ?? error.name)
}

const inMs = (seconds: number | null): number | undefined => (seconds === null ? undefined : seconds * 1000)
const number = (value: unknown, most = Infinity): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? Math.min(most, Math.max(0, value)) : undefined

/** More would cost memory, and gain nothing. */
const mostInFlight = 64

/**
 * The capacity in a body; undefined when it states none. Unknown fields are ignored, and values out of range are
 * clamped.
 */
export function readCapacity(body: unknown): Capacity | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const raw = body as Partial<Record<keyof Capacity, unknown>>
  if (typeof raw.ready !== 'boolean') return undefined
  return {
    ready: raw.ready,
    maxBatchSize: Math.max(1, Math.floor(number(raw.maxBatchSize) ?? unknownCapacity.maxBatchSize)),
    delayBetweenBatches: number(raw.delayBetweenBatches, 300_000) ?? unknownCapacity.delayBetweenBatches,
    maxInFlight: Math.max(1, Math.floor(number(raw.maxInFlight, mostInFlight) ?? 1)),
    retryAfter: number(raw.retryAfter) ?? null,
    loadPercent: number(raw.loadPercent, 100) ?? null,
    message: typeof raw.message === 'string' ? raw.message.slice(0, 500) : null,
  }
}

/**
 * The answers per event in a body; undefined when there are none, so that all are accepted. If `results` is not a list,
 * nothing is accepted.
 */
function readResults(body: unknown): readonly EventResult[] | undefined {
  const results = (body as { results?: unknown } | null | undefined)?.results
  if (results === undefined || results === null) return undefined
  if (!Array.isArray(results)) return []
  const known = ['ok', 'duplicate', 'retry', 'rejected']
  return results.filter(
    (each): each is EventResult =>
      typeof each === 'object' && each !== null && typeof each.id === 'string' && known.includes(each.status),
  )
}

/** An event with two different answers is sent again: whatever the server did with it, that loses nothing. */
export function resultsById(results: readonly EventResult[]): ReadonlyMap<string, EventResult> {
  const byId = new Map<string, EventResult>()
  for (const result of results) {
    const former = byId.get(result.id)
    const isClear = former === undefined || former.status === result.status
    byId.set(result.id, isClear ? result : { id: result.id, status: 'retry' })
  }
  return byId
}
