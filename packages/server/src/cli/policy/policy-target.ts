import type { Input } from '../parse.ts'
import { archiveTarget } from './archive-target.ts'
import { daemonPolicyTarget } from './daemon-policy-target.ts'

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

/** The source that `--policy` names, else the daemon. */
export async function openPolicyTarget(input: Input): Promise<PolicyTarget> {
  const place = input.given('url') && !input.given('policy') ? undefined : input.text('policy')
  return place === undefined ? daemonPolicyTarget(input) : archiveTarget(place)
}
