import { wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { decisionHead } from '../../show/decision.ts'
import { limitTable } from '../../show/limits.ts'
import { openTarget } from '../../target/open-target.ts'
import { readRequest } from '../../target/subject.ts'
import { safe } from '../../terminal/text.ts'

/** Says of every rule whether it applies to a request and why; spends nothing. */
export async function explain(input: Input, terminal: Terminal): Promise<ExitCode> {
  const request = readRequest(input)
  if (request === undefined)
    throw wrongUse('explain needs --path', 'such as: sluice explain -X POST --path /v1/analyze')
  const target = await openTarget(input)
  try {
    const explanation = await target.explain(request)
    terminal.result(explanation, () => {
      const { style } = terminal
      terminal.line(
        `${style.strong(safe(`${request.method} ${request.path}`))} by policy ${explanation.service} version ${explanation.policyVersion}`,
      )
      for (const { rule, mode, matched, why, key, tier, cost, limits } of explanation.rules) {
        const watching = mode === 'shadow' ? style.warn(' (shadow: only watches)') : ''
        terminal.line()
        terminal.line(`${matched ? style.good('applies') : style.faint('skipped')}  ${style.strong(rule)}${watching}`)
        terminal.line(`  why   ${safe(why)}`)
        if (key !== null) terminal.line(`  key   ${style.accent(safe(key))}`)
        if (tier !== null) terminal.line(`  tier  ${safe(tier)}`)
        if (cost !== null && cost !== 1) terminal.line(`  cost  ${cost}`)
        for (const line of limitTable(limits, style)) terminal.line(`  ${line}`)
      }
      terminal.line()
      const { decision } = explanation
      if (decision) return terminal.line(`Now it would be ${decisionHead(decision, style)}`)
      terminal.line(style.warn('Not known: it depends on a tier that is not known here.'))
      const { key } = explanation.rules.find(({ tierUnknown }) => tierUnknown)!
      terminal.line('Say what the service says of the request, such as --context user.plan=pro,')
      terminal.line(`or look at the limits of one tier: sluice inspect ${safe(key!)} --tier NAME`)
    })
    return explanation.decision?.allowed ? 0 : 1
  } finally {
    await target.close()
  }
}
