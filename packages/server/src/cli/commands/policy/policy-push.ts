import type { ExitCode, Input, Terminal } from '../../command.ts'
import { changePolicy } from './change.ts'
import { readPlace } from './open-archive.ts'
import { openPolicyTarget } from './policy-target.ts'

/** Checks a policy and puts it in force. */
export async function policyPush(input: Input, terminal: Terminal): Promise<ExitCode> {
  const { document } = await readPlace(input.args[0] ?? '')
  const target = await openPolicyTarget(input)
  try {
    return await changePolicy(target, document, input.flag('dry-run'), 'pushed', terminal)
  } finally {
    await target.close()
  }
}
