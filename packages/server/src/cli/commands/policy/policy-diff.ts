import { diffDocuments } from '../../../policy/diff-documents.ts'
import { documentOf } from '../../../policy/rule-changes.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { compileApart, showDifferences } from './change.ts'
import { readPlace } from './open-archive.ts'
import { daemonPolicyTarget } from './policy-target.ts'

/** Shows how two policies differ; exits with 1 when they do. */
export async function policyDiff(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [first = '', second] = input.args
  const next = await readPlace(second ?? first)
  const former = second === undefined ? await enforced(input) : await readPlace(first)
  for (const { document } of [former, next]) compileApart(document)
  const differences = diffDocuments(documentOf(former.document), documentOf(next.document))
  terminal.result(
    { same: differences.length === 0, old: former.description, new: next.description, differences },
    () => {
      terminal.line(terminal.style.faint(`${former.description} → ${next.description}`))
      showDifferences(differences, terminal)
      if (differences.length === 0) terminal.line('They are the same.')
    },
  )
  return differences.length === 0 ? 0 : 1
}

async function enforced(input: Input): Promise<{ document: unknown; description: string }> {
  const target = await daemonPolicyTarget(input)
  return { document: await target.current(), description: target.description }
}
