import type { Decision } from '../../../shapes/decisions.ts'
import { CliError, wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { decisionLines } from '../../show/decision.ts'
import { openTarget } from '../../target/open-target.ts'
import { type NamedKey, readKey, readRequest } from '../../target/subject.ts'
import type { SpendOptions, Target } from '../../target/target.ts'

/** Spends from a key or for a request; exits with 1 when denied. */
export async function check(input: Input, terminal: Terminal): Promise<ExitCode> {
  const request = readRequest(input)
  const [text] = input.args
  if (request === undefined && text === undefined) {
    throw wrongUse('check needs KEY, or --path for a request', 'such as: sluice check example/per-user/42')
  }
  if (request !== undefined && text !== undefined) throw wrongUse('check takes KEY or --path, not both')
  const options = { cost: input.whole('cost', 0), tier: input.text('tier'), class: input.text('class') }
  for (const [name, field] of [
    ['class', 'class=prod'],
    ['tier', 'user.plan=pro'],
  ] as const)
    if (request !== undefined && options[name] !== undefined)
      throw wrongUse(`--${name} is of a KEY; the ${name} of a request is read from it`, `such as: --context ${field}`)
  const target = await openTarget(input)
  try {
    const decision =
      request === undefined
        ? await taken(target, readKey(text ?? '', input.text('rule')), options)
        : await target.check(request, options)
    terminal.result(decision, () => {
      for (const line of decisionLines(decision, terminal.style)) terminal.line(line)
    })
    return decision.allowed ? 0 : 1
  } finally {
    await target.close()
  }
}

/** A service that names a tier which is gone gets the default one; a person has mistyped it, and spends nothing. */
async function taken(target: Target, key: NamedKey, options: SpendOptions): Promise<Decision> {
  if (options.tier !== undefined)
    await target.inspect(key, options.tier).catch((error) => {
      // With a token for decisions only, it cannot be known.
      if (!(error instanceof CliError && error.exitCode === 4)) throw error
    })
  return target.take(key, options)
}
