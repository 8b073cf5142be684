import { diffDocuments } from '../../../policy/diff-documents.ts'
import { documentOf } from '../../../policy/rule-changes.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { columns } from '../../terminal/text.ts'
import { onPolicy } from './policy-target.ts'

/** Lists versions, newest first, each with how much it changed. */
export async function policyHistory(input: Input, terminal: Terminal): Promise<ExitCode> {
  const limit = input.whole('limit', 1) ?? 20
  return onPolicy<ExitCode>(input, async (target) => {
    // One more, so that the oldest one shown can be compared too.
    const versions = await target.versions(limit + 1)
    const documents = await Promise.all(versions.map(({ revision }) => target.document(revision)))
    const lines = versions.slice(0, limit).map(({ revision, createdAt }, v) => {
      return {
        revision,
        createdAt,
        changes: changesSince(documents[v + 1], documents[v]),
        document: parsedOrText(documents[v]),
      }
    })
    terminal.result({ target: target.description, versions: lines }, () => {
      const { style } = terminal
      if (lines.length === 0) terminal.line(`${target.description} has no history yet; sluice policy push begins one.`)
      const rows = lines.map(({ revision, createdAt, changes }, v) => [
        style.strong(String(revision)),
        createdAt.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'),
        changes === null ? style.faint('first known') : changes === 1 ? '1 change' : `${changes} changes`,
        v === 0 ? style.good('newest') : '',
      ])
      terminal.lines(columns(rows, ['right']))
    })
    return 0
  })
}

function changesSince(before: unknown, after: unknown): number | null {
  return before === undefined ? null : diffDocuments(parsedOrText(before), parsedOrText(after)).length
}

/** What was pushed by other means may not even parse. */
function parsedOrText(document: unknown): unknown {
  try {
    return documentOf(document)
  } catch {
    return document
  }
}
