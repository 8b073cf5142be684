import { CliError } from '../../cli-error.ts'
import type { Input } from '../../input.ts'
import { daemonHttp } from '../../target/daemon-http.ts'
import type { PolicyTarget, VersionLine } from './policy-target.ts'

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
