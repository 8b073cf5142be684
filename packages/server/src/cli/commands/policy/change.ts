import { type CompiledPolicy, compilePolicy } from 'sluice/policy'
import { diffDocuments } from '../../../policy/diff-documents.ts'
import { documentOf } from '../../../policy/rule-changes.ts'
import type { Difference } from '../../../shapes/policy.ts'
import { wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { safe } from '../../terminal/text.ts'
import { readPlace } from './open-archive.ts'
import { daemonPolicyTarget, onPolicy, type PolicyTarget } from './policy-target.ts'

/** Checks a policy and puts it in force. */
export async function policyPush(input: Input, terminal: Terminal): Promise<ExitCode> {
  const { document } = await readPlace(input.args[0] ?? '')
  return onPolicy(input, (target) => changePolicy(target, document, input.flag('dry-run'), 'pushed', terminal))
}

/** Puts a former version in force, as a new revision. */
export async function policyRollback(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [text] = input.args
  if (text !== undefined && !/^\d{1,15}$/.test(text))
    throw wrongUse(`${JSON.stringify(text)} is no revision; see: sluice policy history`)
  return onPolicy(input, async (target) => {
    const revision = text === undefined ? (await target.versions(2))[1]?.revision : Number(text)
    const document = revision === undefined ? undefined : await target.document(revision)
    if (document === undefined) {
      const lacking = text === undefined ? 'there is no former version' : `there is no revision ${text}`
      throw wrongUse(lacking, 'see: sluice policy history')
    }
    return changePolicy(target, document, input.flag('dry-run'), `rolled back to revision ${revision}`, terminal)
  })
}

/** Shows how two policies differ; exits with 1 when they do. */
export async function policyDiff(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [first = '', second] = input.args
  const next = await readPlace(second ?? first)
  const former = second === undefined ? await enforced(input) : await readPlace(first)
  for (const { document } of [former, next]) compileApart(document)
  const differences = diffDocuments(documentOf(former.document), documentOf(next.document))
  const same = differences.length === 0
  terminal.result({ same, old: former.description, new: next.description, differences }, () => {
    terminal.line(terminal.style.faint(`${former.description} → ${next.description}`))
    showDifferences(differences, terminal)
    if (same) terminal.line('They are the same.')
  })
  return same ? 0 : 1
}

async function enforced(input: Input): Promise<{ document: unknown; description: string }> {
  const target = daemonPolicyTarget(input)
  return { document: await target.current(), description: target.description }
}

/** Puts a document in force after it was checked, or only shows what that would change. */
async function changePolicy(
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
