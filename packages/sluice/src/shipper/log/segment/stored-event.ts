/** One event as it is stored. */
export interface StoredEvent {
  readonly segment: string
  readonly producer: string
  readonly seq: number
  readonly timeMs: number
  /** Where its record ends in the segment. */
  readonly end: number
  /** The payload is from `from` up to `to` of these bytes, which many events share. */
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
}

/**
 * The JSON text of an event. A batch does not use it (see `batchBody`): a Buffer for each event costs more memory than
 * all the rest of it.
 */
export function payloadOf({ bytes, from, to }: StoredEvent): Buffer {
  return bytes.subarray(from, to)
}

/** Up to where a segment was shipped. */
export interface Position {
  readonly offset: number
  readonly seq: number
}
