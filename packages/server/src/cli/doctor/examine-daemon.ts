import { toCliError } from '../cli-error.ts'
import type { Input } from '../parse.ts'
import { daemonHttp } from '../target/daemon-http.ts'
import { duration } from '../terminal/numbers.ts'
import { type Finding, ok, problem, unreachable, warning } from './finding.ts'

interface DaemonStats {
  readonly service: string
  readonly policy: {
    readonly version: string
    readonly ageMs: number
    readonly source: string
    readonly lastError: string | null
  }
  readonly store: {
    readonly name: string
    readonly ok: boolean
    readonly breaker: string
    readonly roundTripMs: number
    readonly warnings: readonly string[]
  }
}

/** Asks a daemon how it is. */
export async function examineDaemon(input: Input): Promise<Finding[]> {
  const daemon = daemonHttp(input)
  try {
    const { service, policy, store } = (await daemon.json('GET', '/v1/stats')) as DaemonStats
    const state = `${store.name}, breaker ${store.breaker}, ${duration(store.roundTripMs)} round trip`
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
      ...store.warnings.map((text) => warning('daemon store', text, 'see: sluice doctor --redis URL')),
    ]
  } catch (error) {
    const { exitCode, message, hint } = toCliError(error)
    const mend = hint ?? 'start one with: sluice serve'
    return [exitCode === 4 ? problem('daemon', message, mend) : unreachable('daemon', message, mend)]
  }
}
