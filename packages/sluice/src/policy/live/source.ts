/** A policy document as it came from a source: not yet checked. */
export interface SourcedDocument {
  /** The parsed document, or YAML or JSON text. */
  readonly document: unknown
  /** Grows with every change, where the source knows: a later one replaces an earlier one, never the other way round. */
  readonly revision: number | undefined
}

/** What a source tells whoever follows it. */
export interface SourceListener {
  changed(document: SourcedDocument): void
  /** The source cannot be read. Told once for each outage, and again when the reason changes. */
  failed(error: Error): void
  /** The source can be read again; whether the document has changed meanwhile, `changed` tells. */
  recovered(): void
}

/**
 * Where a policy comes from. `start` reads the document once and rejects when it cannot; afterwards, also after it has rejected, the
 * source pushes changes to the listener, keeps trying with jittered backoff while it is down, and never delivers the same text twice
 * in a row. `close` ends all that.
 */
export interface PolicySource {
  /** For people: `file sluice.yaml`, `mongodb policies/sentiment-service`. Never contains a secret. */
  readonly description: string
  start(listener: SourceListener): Promise<SourcedDocument>
  close(): Promise<void>
}
