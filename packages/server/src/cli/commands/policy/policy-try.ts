import type { Trial } from '../../../shapes/policy.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { daemonHttp } from '../../target/daemon-http.ts'
import { count, countOf, duration } from '../../terminal/numbers.ts'
import { columns, safe } from '../../terminal/text.ts'
import { compileApart } from './change.ts'
import { placeOf, readPlace } from './open-archive.ts'
import { asBody } from './policy-target.ts'

const shownKeys = 15

/** Replays the last requests of a daemon through a policy; exits with 1 when it would have denied others. */
export async function policyTry(input: Input, terminal: Terminal): Promise<ExitCode> {
  const { document } = await readPlace(placeOf(input))
  compileApart(document)
  const outcome = (await daemonHttp(input).send('POST', '/v1/policy/try', asBody(document))) as Trial
  terminal.result(outcome, () => show(outcome, terminal))
  return outcome.newlyDenied + outcome.newlyAllowed === 0 ? 0 : 1
}

function show(outcome: Trial, terminal: Terminal): void {
  const { style } = terminal
  const { requests, fromMs, toMs, denied, newlyDenied, newlyAllowed, rules, subjects, subjectsDenied } = outcome
  if (fromMs === null || toMs === null) {
    terminal.line('This daemon has not decided on any request yet.')
    return
  }
  terminal.line(
    `${countOf(requests, 'request')} of ${duration(toMs - fromMs)}; version ${outcome.version} beside ${outcome.inForce}, which runs`,
  )
  const change = (running: number, tried: number): string => {
    if (tried === running) return style.faint('same')
    return tried > running ? style.bad(`+${count(tried - running)}`) : style.good(`-${count(running - tried)}`)
  }
  const row = (name: string, { running, tried }: Trial['denied']): string[] => [
    ...[name, count(running), count(tried), change(running, tried)],
  ]
  const touched = rules.filter((rule) => rule.denied.running + rule.denied.tried > 0)
  const rows = [
    ['', 'runs', 'new', ''],
    row('denied', denied),
    ...touched.map((each) => row(`  by ${safe(each.rule)}`, each.denied)),
    ...subjects.slice(0, shownKeys).map((each) => row(`  ${style.accent(safe(each.key))}`, each.denied)),
  ]
  terminal.lines(columns(rows, ['left', 'right', 'right', 'right']))
  if (subjectsDenied > shownKeys) terminal.line(style.faint(`  and ${countOf(subjectsDenied - shownKeys, 'more key')}`))
  terminal.line(
    newlyDenied + newlyAllowed === 0
      ? style.good('Nobody would notice a difference.')
      : `${countOf(newlyDenied, 'request')} newly denied, ${count(newlyAllowed)} newly allowed`,
  )
  for (const { rule, field, requests: lacking } of outcome.unknown)
    terminal.line(
      `${style.warn('!')} ${safe(rule)} reads ${safe(field)}, which was not kept for ${countOf(lacking, 'request')}: it may have been skipped there`,
    )
  for (const note of outcome.notes) terminal.line(`${style.warn('!')} ${safe(note)}`)
}
