import { wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { decisionLines } from '../../show/decision.ts'
import { openTarget } from '../../target/open-target.ts'
import { readKey, readRequest } from '../../target/subject.ts'

/** Spends from a key or for a request; exits with 1 when denied. */
export async function check(input: Input, terminal: Terminal): Promise<ExitCode> {
  const request = readRequest(input)
  const [text] = input.args
  if (request === undefined && text === undefined) {
    throw wrongUse('check needs KEY, or --path for a request', 'such as: sluice check example/per-user/42')
  }
  if (request !== undefined && text !== undefined) throw wrongUse('check takes KEY or --path, not both')
  const options = { cost: input.whole('cost', 0), tier: input.text('tier'), class: input.text('class') }
  if (request !== undefined && options.class !== undefined)
    throw wrongUse('--class is of a KEY; the class of a request is read from it', 'such as: --context class=prod')
  const target = await openTarget(input)
  try {
    const decision =
      request === undefined
        ? await target.take(readKey(text ?? '', input.text('rule')), options)
        : await target.check(request, options)
    terminal.result(decision, () => {
      for (const line of decisionLines(decision, terminal.style)) terminal.line(line)
    })
    return decision.allowed ? 0 : 1
  } finally {
    await target.close()
  }
}
