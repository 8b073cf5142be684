import type { PolicySource } from '../live/source.ts'

/** One version of a policy document, as it was pushed. */
export interface PolicyVersion {
  readonly revision: number
  readonly createdAt: Date
  /** The document, or YAML or JSON text, as in `SourcedDocument`. */
  readonly document: unknown
}

/** Writes policies to where a source reads them, and remembers former ones. */
export interface PolicyArchive {
  /** Puts a document (or YAML or JSON text) in place for every replica, unchecked; returns its revision. */
  push(document: unknown): Promise<number>
  /** The newest versions, newest first. */
  history(limit: number): Promise<readonly PolicyVersion[]>
}

/** A source that can also be written to. */
export interface ArchivedSource extends PolicySource {
  readonly archive: PolicyArchive
}
