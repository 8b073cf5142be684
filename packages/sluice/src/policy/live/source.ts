/** A policy document as it came from a source: not yet checked. */
export interface SourcedDocument {
  /** The parsed document, or YAML or JSON text. */
  readonly document: unknown
  /**
   * Grows with every change, where the source knows: a later one replaces an earlier one, never the other way round.
   */
  readonly revision: number | undefined
}

/** Receives what a source reads. */
export interface SourceListener {
  /**
   * False when the document is older than the one in force: it was not taken, and the source delivers it again at its
   * next reading.
   */
  changed(document: SourcedDocument): boolean
  /** The source cannot be read. Called once for each outage, and again when the reason changes. */
  failed(error: Error): void
  /** The source was read and has no document any more: whatever comes next is newer. */
  emptied?(): void
  /** The source can be read again; a changed document is delivered by `changed`. */
  recovered(): void
}

/**
 * Where a policy comes from. `start` reads the document once and rejects when it cannot; afterwards, also after it has
 * rejected, the source pushes changes to the listener, keeps trying with jittered backoff while it is down, and never
 * delivers the same text twice in a row. `close` ends all that.
 */
export interface PolicySource {
  /** For people: `file sluice.yaml`, `mongodb policies/sentiment-service`. Never contains a secret. */
  readonly description: string
  /** The service that the document must be for, where the source was asked for one. */
  readonly service?: string
  start(listener: SourceListener): Promise<SourcedDocument>
  close(): Promise<void>
}

/** A source that never changes: a document, or YAML or JSON text. */
export function staticPolicy(document: unknown): PolicySource {
  return {
    description: 'static',
    start: async () => ({ document, revision: undefined }),
    close: async () => {},
  }
}
