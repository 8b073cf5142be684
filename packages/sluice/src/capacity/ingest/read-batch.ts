/** One event of a batch. */
export interface IncomingEvent {
  readonly id: string
  readonly data: unknown
}

/** More events than this in one batch are refused: no table allows shippers to send as many. */
export const mostEvents = 100_000

/** Reads `{ events: [{ id, data }] }`; returns a text that describes the error if it is malformed. */
export function readBatch(body: unknown): readonly IncomingEvent[] | string {
  const events: unknown = typeof body === 'object' && body !== null ? (body as { events?: unknown }).events : undefined
  if (!Array.isArray(events)) return 'the body must be { "events": [{ "id", "data" }] }'
  if (events.length > mostEvents) return `a batch has at most ${mostEvents} events`
  for (const [i, event] of events.entries()) {
    const id: unknown = typeof event === 'object' && event !== null ? (event as { id?: unknown }).id : undefined
    if (typeof id !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(id))
      return `events[${i}].id must be 1 to 200 printable characters`
  }
  return events as readonly IncomingEvent[]
}

/** An id is `<producer>-<sequence>`; one of another form is a producer of a single event. */
export function splitId(id: string): { readonly producer: string; readonly seq: number } {
  const at = id.lastIndexOf('-')
  const seq = Number(id.slice(at + 1))
  const isPlain = at > 0 && /^(0|[1-9]\d{0,14})$/.test(id.slice(at + 1))
  // A number that no sequence has, because `a` and `a-0` are two events.
  return isPlain ? { producer: id.slice(0, at), seq } : { producer: id, seq: -1 }
}
