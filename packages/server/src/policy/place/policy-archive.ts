import type { ArchivedSource, PolicyArchive, PolicySource } from 'sluice/policy'

/** The archive of a source, if it has one. */
export function archiveOf(source: PolicySource): PolicyArchive | undefined {
  return (source as Partial<ArchivedSource>).archive
}
