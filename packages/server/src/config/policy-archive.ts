import type { PolicySource } from 'sluice'

/** One version of a policy document, as it was pushed. */
export interface PolicyVersion {
  readonly revision: number
  readonly createdAt: Date
  /** The document, or YAML or JSON text. */
  readonly document: unknown
}

/** Where the versions of a policy are kept; sources that can be written to have one. */
export interface PolicyArchive {
  push(document: unknown): Promise<number>
  history(limit: number): Promise<readonly PolicyVersion[]>
}

/** The archive of a source, if it has one. */
export function archiveOf(source: PolicySource): PolicyArchive | undefined {
  return (source as { archive?: PolicyArchive }).archive
}
