import type { Difference } from '../../../policy/diff-documents.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { safe } from '../../terminal/text.ts'

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
