import { wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { changePolicy } from './change.ts'
import { openPolicyTarget } from './policy-target.ts'

/** Puts a former version in force, as a new revision. */
export async function policyRollback(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [text] = input.args
  if (text !== undefined && !/^\d{1,15}$/.test(text))
    throw wrongUse(`${JSON.stringify(text)} is no revision; see: sluice policy history`)
  const target = await openPolicyTarget(input)
  try {
    const revision = text === undefined ? (await target.versions(2))[1]?.revision : Number(text)
    const document = revision === undefined ? undefined : await target.document(revision)
    if (document === undefined) {
      throw wrongUse(
        text === undefined ? 'there is no former version' : `there is no revision ${text}`,
        'see: sluice policy history',
      )
    }
    return await changePolicy(target, document, input.flag('dry-run'), `rolled back to revision ${revision}`, terminal)
  } finally {
    await target.close()
  }
}
