import type { PolicyVersion } from 'sluice/policy'
import { CliError } from '../../cli-error.ts'
import type { Input } from '../../command.ts'
import { daemonHttp } from '../../target/daemon-http.ts'
import { openArchive } from './open-archive.ts'

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

/** As many versions as a daemon lists. */
const mostListed = 100

/** Works through a daemon, on the source it follows. */
export function daemonPolicyTarget(input: Input): PolicyTarget {
  const daemon = daemonHttp(input)
  return {
    description: `daemon ${daemon.address}`,
    async current() {
      return ((await daemon.json('GET', '/v1/policy')) as { document: unknown }).document ?? undefined
    },
    async push(document) {
      const isText = typeof document === 'string'
      const headers = { 'content-type': isText ? 'application/yaml' : 'application/json' }
      const body = isText ? document : JSON.stringify(document)
      return (await daemon.send('PUT', '/v1/policy', { body, headers })) as { revision: number }
    },
    async versions(limit) {
      const { versions } = (await daemon.json('GET', `/v1/policy/versions?limit=${Math.min(limit, mostListed)}`)) as {
        versions: VersionLine[]
      }
      return versions.map(({ revision, createdAt }) => ({ revision, createdAt }))
    },
    async document(revision) {
      try {
        return ((await daemon.json('GET', `/v1/policy/versions/${revision}`)) as { document: unknown }).document
      } catch (error) {
        if (error instanceof CliError && error.code === 'not-found') return undefined
        throw error
      }
    },
    async close() {},
  }
}

/** How far back a revision is looked for. */
const farthest = 1000

/** Works on the source itself. Every replica that follows it takes the change up. */
export async function archiveTarget(place: string): Promise<PolicyTarget> {
  const archive = await openArchive(place)
  let known: readonly PolicyVersion[] | undefined
  return {
    description: archive.description,
    current: () => archive.current(),
    push: async (document) => ({ revision: await archive.push(document) }),
    async versions(limit) {
      known = await archive.history(limit)
      return known.map(({ revision, createdAt }) => ({ revision, createdAt: createdAt.toISOString() }))
    },
    async document(revision) {
      const isIt = (version: PolicyVersion): boolean => version.revision === revision
      return (known?.find(isIt) ?? (await archive.history(farthest)).find(isIt))?.document
    },
    close: () => archive.close(),
  }
}
