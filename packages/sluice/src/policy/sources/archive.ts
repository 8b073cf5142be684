import { checkOptionNames } from '../../core/check-options.ts'
import { SluiceError } from '../../core/errors.ts'
import type { PolicySource } from '../live/source.ts'

/** One version of a policy document, as it was pushed. */
export interface PolicyVersion {
  readonly revision: number
  readonly createdAt: Date
  /** The document, or YAML or JSON text, as in `SourcedDocument`. */
  readonly document: unknown
}

export interface PushOptions {
  /**
   * The revision that must still be the newest, 0 for none. Where somebody else was faster, nothing is written and the
   * push rejects with `SLUICE_POLICY_CHANGED`.
   */
  readonly after?: number
}

/** Checks the options of a push, and returns the revision that it must follow. */
export function readPushOptions(options: PushOptions = {}): number | undefined {
  checkOptionNames('push', options, ['after'])
  return options.after
}

/** Writes policies to where a source reads them, and remembers former ones. */
export interface PolicyArchive {
  /** Puts a document (or YAML or JSON text) in place for every replica, unchecked; returns its revision. */
  push(document: unknown, options?: PushOptions): Promise<number>
  /** The newest versions, newest first. */
  history(limit: number): Promise<readonly PolicyVersion[]>
}

/** A source that can also be written to. */
export interface ArchivedSource extends PolicySource {
  readonly archive: PolicyArchive
}

/** The error of a push that came second. */
export function policyChanged(after: number): SluiceError {
  return new SluiceError('SLUICE_POLICY_CHANGED', `somebody else has pushed a policy since revision ${after}`)
}
