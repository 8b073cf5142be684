import { encodeKey, HashedPart } from 'sluice/internal'
import { optionsOf } from '../../options-of.ts'
import type { Decision, Explanation, Inspection } from '../../shapes/decisions.ts'
import type { Policy } from '../../shapes/policy.ts'
import { CliError, wrongUse } from '../cli-error.ts'
import type { Input } from '../command.ts'
import { type DaemonHttp, daemonHttp } from './daemon-http.ts'
import type { NamedKey } from './subject.ts'
import type { Target } from './target.ts'

/** Works through a daemon. */
export function daemonTarget(input: Input): Target {
  const daemon = daemonHttp(input)
  return {
    description: `daemon ${daemon.address}`,
    async take(key, options) {
      if (key.key.some((part) => part instanceof HashedPart))
        throw wrongUse('the key has a hash for a part that was too long; it can be inspected and reset, not spent from')
      await checkService(daemon, key)
      const body = { key: key.key, ...optionsOf({ ...options, rule: key.rule }) }
      return (await daemon.json('POST', '/v1/check', body)) as Decision
    },
    check: async (request, { cost }) =>
      (await daemon.json('POST', '/v1/check', { request, ...optionsOf({ cost }) })) as Decision,
    explain: async (request) => (await daemon.json('POST', '/v1/explain', { request })) as Explanation,
    async inspect(key, tier) {
      const query = tier === undefined ? '' : `?tier=${encodeURIComponent(tier)}`
      const found = (await daemon.json('GET', `${await keyPath(daemon, key)}${query}`)) as Inspection
      const { key: name, rule, limits, fixed, tierUnknown, degraded, holds } = found
      return { key: name, rule, limits, fixed, tierUnknown, degraded, holds }
    },
    async reset(key) {
      await daemon.json('DELETE', await keyPath(daemon, key))
    },
    async block(key, length) {
      await daemon.json('PUT', await keyPath(daemon, key, '/v1/blocks/'), { for: length })
    },
    async unblock(key) {
      const answer = await daemon.json('DELETE', await keyPath(daemon, key, '/v1/blocks/'))
      return (answer as { unblocked: boolean }).unblocked
    },
  }
}

/**
 * A full key of another service must not spend from this one's. A client that may not read the policy cannot be
 * checked, and spends by rule.
 */
async function checkService(daemon: DaemonHttp, { service }: NamedKey): Promise<void> {
  if (service === undefined) return
  const own = await policyOf(daemon).catch((error) => {
    if (error instanceof CliError && error.exitCode === 4) return undefined
    throw error
  })
  if (own !== undefined && own.service !== service) {
    throw otherService(service, own.service)
  }
}

function otherService(given: string, own: string): CliError {
  return wrongUse(
    `the key is of service ${JSON.stringify(given)}; the daemon enforces the policy of ${JSON.stringify(own)}`,
  )
}

async function policyOf(daemon: DaemonHttp): Promise<Policy> {
  return (await daemon.json('GET', '/v1/policy')) as Policy
}

/** How many rules a message lists. */
const namedRules = 20

/** The path of a key in the API; what the key lacks of service and rule comes from the policy of the daemon. */
export async function keyPath(daemon: DaemonHttp, named: NamedKey, prefix = '/v1/keys/'): Promise<string> {
  const isFull = named.service !== undefined && named.rule !== undefined
  const policy = isFull ? undefined : await policyOf(daemon)
  const service = named.service ?? policy?.service ?? ''
  if (policy !== undefined && policy.service !== service) throw otherService(service, policy.service)
  const rule = named.rule ?? (policy?.rules.length === 1 ? policy.rules[0] : undefined)
  if (rule === undefined) {
    const rules = policy?.rules ?? []
    const more = rules.length > namedRules ? `, and ${rules.length - namedRules} more` : ''
    throw wrongUse(
      `the policy has ${rules.length} rules; name one with --rule: ${rules.slice(0, namedRules).join(', ')}${more}`,
    )
  }
  const segments = encodeKey([service, rule, ...named.key]).split('/')
  return `${prefix}${segments.map(segmentOf).join('/')}`
}

/** A part that is `.` or `..` would be resolved as a folder, so it is written with the escapes that keys have. */
function segmentOf(part: string): string {
  return encodeURIComponent(/^\.{1,2}$/.test(part) ? part.replaceAll('.', '%002e') : part)
}
