import { toCliError } from '../../cli-error.ts'
import type { Input } from '../../command.ts'
import { daemonHttp, daemonStats } from '../../target/daemon-http.ts'
import { duration } from '../../terminal/numbers.ts'
import { type Finding, notPermitted, ok, problem, unreachable, warning } from './finding.ts'

/** What else was looked at, to be compared with what the daemon uses. */
export interface Beside {
  /** The version of the policy that was named. */
  readonly policyVersion: string | undefined
  readonly hasRedis: boolean
}

/** Asks a daemon how it is, and whether it uses what was looked at beside it. */
export async function examineDaemon(input: Input, beside: Beside): Promise<Finding[]> {
  const daemon = daemonHttp(input)
  try {
    const { service, policy, store } = await daemonStats(daemon)
    const trip = store.roundTripMs === null ? '' : `, ${duration(store.roundTripMs)} round trip`
    const state = `${store.name}, breaker ${store.breaker}${trip}`
    return [
      ok('daemon', `${daemon.address} enforces the policy of ${service}`),
      policy.lastError === null
        ? ok('daemon policy', `version ${policy.version} from ${policy.source}, in force for ${duration(policy.ageMs)}`)
        : problem(
            'daemon policy',
            `version ${policy.version} stays in force: ${policy.lastError}`,
            'correct the policy: sluice policy validate',
          ),
      store.ok
        ? ok('daemon store', state)
        : problem('daemon store', state, 'rules now do what onStoreFailure says; see: sluice doctor --redis URL'),
      ...differences(policy.version, store.name, beside),
      ...store.warnings.map((text) => warning('daemon store', text, 'see: sluice doctor --redis URL')),
    ]
  } catch (error) {
    const { exitCode, message, hint } = toCliError(error)
    const mend = hint ?? 'start one with: sluice serve'
    return [exitCode === 4 ? notPermitted('daemon', message, mend) : unreachable('daemon', message, mend)]
  }
}

function differences(version: string, store: string, { policyVersion, hasRedis }: Beside): Finding[] {
  const findings: Finding[] = []
  if (policyVersion !== undefined && policyVersion !== version)
    findings.push(
      problem(
        'daemon policy',
        `it enforces version ${version}; the policy that was named is version ${policyVersion}`,
        'name the source of the daemon with --policy, or push this one: sluice policy push FILE',
      ),
    )
  if (hasRedis && !store.startsWith('redis'))
    findings.push(
      problem(
        'daemon store',
        `it counts in ${store}, not in the Redis that was named`,
        'start it with --redis URL; --require-redis makes sure',
      ),
    )
  return findings
}
