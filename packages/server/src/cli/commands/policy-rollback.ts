import { wrongUse } from '../cli-error.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Input } from '../parse.ts'
import { changePolicy } from '../policy/change.ts'
import { openDesk } from '../policy/policy-desk.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Puts a former version in force, as a new revision. */
export async function policyRollback(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [text] = input.args
  if (text !== undefined && !/^\d{1,15}$/.test(text))
    throw wrongUse(`${JSON.stringify(text)} is no revision; see: sluice policy history`)
  const desk = await openDesk(input)
  try {
    const revision = text === undefined ? (await desk.versions(2))[1]?.revision : Number(text)
    const document = revision === undefined ? undefined : await desk.document(revision)
    if (document === undefined) {
      throw wrongUse(
        text === undefined ? 'there is no former version' : `there is no revision ${text}`,
        'see: sluice policy history',
      )
    }
    return await changePolicy(desk, document, input.flag('dry-run'), `rolled back to revision ${revision}`, terminal)
  } finally {
    await desk.close()
  }
}
