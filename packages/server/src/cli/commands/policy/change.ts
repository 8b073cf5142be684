import { diffDocuments } from '../../../policy/diff-documents.ts'
import { documentOf } from '../../../policy/rule-changes.ts'
import type { ExitCode } from '../../exit-codes.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { compileApart } from './compile-apart.ts'
import type { PolicyTarget } from './policy-target.ts'
import { showDifferences } from './show-differences.ts'

/** Puts a document in force after it was checked, or only shows what that would change. */
export async function changePolicy(
  target: PolicyTarget,
  document: unknown,
  dryRun: boolean,
  verb: string,
  terminal: Terminal,
): Promise<ExitCode> {
  const { service, version, rules } = compileApart(document).policy
  const before = await target.current()
  const differences = before === undefined ? undefined : diffDocuments(documentOf(before), documentOf(document))
  const revision = dryRun ? null : (await target.push(document)).revision
  const result = {
    pushed: !dryRun,
    revision,
    service,
    version,
    rules: rules.map(({ name }) => name),
    target: target.description,
    differences: differences ?? null,
  }
  terminal.result(result, () => {
    const { style } = terminal
    if (differences !== undefined) showDifferences(differences, terminal)
    if (differences?.length === 0) terminal.line(style.faint('It is the same policy as before.'))
    const done = dryRun ? style.warn(`would be ${verb}`) : style.good(verb)
    const as = revision === null ? '' : ` as revision ${style.strong(String(revision))}`
    terminal.line(`${done}${as} to ${target.description}: service ${service}, version ${version}`)
  })
  return 0
}
