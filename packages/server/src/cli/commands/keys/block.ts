import { wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { openTarget } from '../../target/open-target.ts'
import { keyOf } from '../../target/subject.ts'
import { safe } from '../../terminal/text.ts'

/** Lets nothing of a key pass for a while. */
export async function block(input: Input, terminal: Terminal): Promise<ExitCode> {
  const key = keyOf(input)
  const length = input.text('for')
  if (length === undefined || input.duration('for', 1) === undefined) throw wrongUse('say for how long: --for 15m')
  const target = await openTarget(input, { needsStore: true })
  try {
    const { key: name } = await target.inspect(key, undefined)
    await target.block(key, length)
    terminal.result({ blocked: true, key: name }, () => {
      const at = terminal.style.faint(`at ${target.description}`)
      terminal.line(`${terminal.style.bad('blocked')} ${safe(name)} for ${length}  ${at}`)
    })
    return 0
  } finally {
    await target.close()
  }
}

/** Ends the block of a key. */
export async function unblock(input: Input, terminal: Terminal): Promise<ExitCode> {
  const key = keyOf(input)
  const target = await openTarget(input, { needsStore: true })
  try {
    const { key: name } = await target.inspect(key, undefined)
    const unblocked = await target.unblock(key)
    terminal.result({ unblocked, key: name }, () => {
      const at = terminal.style.faint(`at ${target.description}`)
      terminal.line(
        `${terminal.style.good('unblocked')} ${safe(name)}${unblocked ? '' : ': it was not blocked'}  ${at}`,
      )
    })
    return 0
  } finally {
    await target.close()
  }
}
