/** One version of a policy, for people. */
export interface VersionLine {
  readonly revision: number
  /** ISO 8601. */
  readonly createdAt: string
}

/** Where a policy is read, changed and rolled back: its source, or a daemon. */
export interface PolicyTarget {
  /** For people. Never contains a secret. */
  readonly description: string
  /** What is in force; undefined when there is nothing yet. */
  current(): Promise<unknown>
  push(document: unknown): Promise<{ readonly revision: number }>
  /** Newest first. */
  versions(limit: number): Promise<readonly VersionLine[]>
  /** The document of a revision; undefined when it is not kept. */
  document(revision: number): Promise<unknown>
  close(): Promise<void>
}
