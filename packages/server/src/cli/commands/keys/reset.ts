import { isUnused } from '../../../http/routes/decisions/keys.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { openTarget } from '../../target/open-target.ts'
import { keyOf } from '../../target/subject.ts'
import { safe } from '../../terminal/text.ts'

/** Forgets what a key has used. */
export async function reset(input: Input, terminal: Terminal): Promise<ExitCode> {
  const key = keyOf(input)
  const target = await openTarget(input, { needsStore: true })
  try {
    // Inspect it first: for its full name, and to report a key that does not exist.
    const before = await target.inspect(key, undefined)
    const { key: name } = before
    const stored = before.tierUnknown || !isUnused(before)
    await target.reset(key)
    terminal.result({ reset: true, key: name, stored }, () => {
      terminal.line(
        `${terminal.style.good('reset')} ${safe(name)}${stored ? '' : ': nothing was stored'}  ${terminal.style.faint(`at ${target.description}`)}`,
      )
    })
    return 0
  } finally {
    await target.close()
  }
}
