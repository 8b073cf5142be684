import { type CompiledPolicy, compilePolicy } from 'sluice/policy'
import { diffDocuments } from '../../../policy/diff-documents.ts'
import { documentOf } from '../../../policy/rule-changes.ts'
import type { Difference } from '../../../shapes/policy.ts'
import type { ExitCode, Terminal } from '../../command.ts'
import { safe } from '../../terminal/text.ts'
import type { PolicyTarget } from './policy-target.ts'

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

/**
 * Checks a document away from the code that will enforce it: keys by functions (`fn:tenantOf`) are taken as they are,
 * and `functions` lists their names.
 */
export function compileApart(document: unknown): { policy: CompiledPolicy; functions: readonly string[] } {
  const functions = new Set<string>()
  const policy = compilePolicy(document, {
    functions: (name) => {
      functions.add(name)
      return () => null
    },
  })
  return { policy, functions: [...functions] }
}

/** Prints differences, one per line. */
export function showDifferences(differences: readonly Difference[], terminal: Terminal): void {
  const { style } = terminal
  const value = (it: unknown): string => safe(JSON.stringify(it) ?? 'nothing')
  for (const { path, kind, before, after } of differences) {
    const place = path === '' ? 'the document' : safe(path)
    if (kind === 'added') terminal.line(`${style.good('+')} ${place}  ${style.good(value(after))}`)
    if (kind === 'removed') terminal.line(`${style.bad('-')} ${place}  ${style.bad(value(before))}`)
    if (kind === 'changed')
      terminal.line(`${style.warn('~')} ${place}  ${style.bad(value(before))} → ${style.good(value(after))}`)
  }
}
