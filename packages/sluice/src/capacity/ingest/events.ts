/** The names of all events. */
export const ingestEventNames: Readonly<Record<keyof IngestEvents, true>> = {
  received: true,
  refused: true,
  failed: true,
}

/** The events of an ingest. */
export interface IngestEvents {
  /** A batch is complete: so many of its events had each result. */
  received: {
    readonly accepted: number
    readonly duplicates: number
    readonly retried: number
    readonly rejected: number
  }
  /** A batch was refused as a whole: it is malformed, or `accept` will never take it. */
  refused: { readonly reason: string }
  /** A batch could not be stored; the shipper sends it again. */
  failed: { readonly events: number; readonly error: unknown }
}
