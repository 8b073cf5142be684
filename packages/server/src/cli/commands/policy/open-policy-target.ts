import type { Input } from '../../input.ts'
import { archiveTarget } from './archive-target.ts'
import { daemonPolicyTarget } from './daemon-policy-target.ts'
import type { PolicyTarget } from './policy-target.ts'

/** The source that `--policy` names, else the daemon. */
export async function openPolicyTarget(input: Input): Promise<PolicyTarget> {
  const place = input.given('url') && !input.given('policy') ? undefined : input.text('policy')
  return place === undefined ? daemonPolicyTarget(input) : archiveTarget(place)
}
