import type { PolicyVersion } from 'sluice/policy'
import { CliError, wrongUse } from '../../cli-error.ts'
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
}

/** The source that the options name; undefined for a daemon. */
export function sourceNamed(input: Input): string | undefined {
  return input.given('url') && !input.given('policy') ? undefined : input.text('policy')
}

/** Uses the source that `--policy` names, else the daemon. */
export async function onPolicy<Result>(input: Input, use: (target: PolicyTarget) => Promise<Result>): Promise<Result> {
  const place = sourceNamed(input)
  return place === undefined ? use(daemonPolicyTarget(input)) : onSource(place, use)
}

/** A document as it is sent: text as YAML, what a database keeps parsed as JSON. */
export function asBody(document: unknown): { readonly body: string; readonly headers: Record<string, string> } {
  return typeof document === 'string'
    ? { body: document, headers: { 'content-type': 'application/yaml' } }
    : { body: JSON.stringify(document), headers: { 'content-type': 'application/json' } }
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
      return (await daemon.send('PUT', '/v1/policy', asBody(document))) as { revision: number }
    },
    async versions(limit) {
      if (limit > mostListed)
        throw wrongUse(
          `--limit is ${limit - 1}; a daemon lists ${mostListed - 1} versions at most`,
          'for more, name the source itself: --policy SOURCE',
        )
      const { versions } = (await daemon.json('GET', `/v1/policy/versions?limit=${limit}`)) as {
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
  }
}

/** How far back a revision is looked for. */
const farthest = 1000

/** Works on the source itself, and closes it. Every replica that follows it takes a change up. */
export async function onSource<Result>(place: string, use: (target: PolicyTarget) => Promise<Result>): Promise<Result> {
  const archive = await openArchive(place)
  let known: readonly PolicyVersion[] | undefined
  try {
    return await use({
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
    })
  } finally {
    await archive.close()
  }
}
