import { setTimeout as sleep } from 'node:timers/promises'
import { noneCalled } from 'sluice/internal'
import type { Denial, Denials } from '../../shapes/page.ts'
import type { Policy } from '../../shapes/policy.ts'
import { CliError, wrongUse } from '../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../command.ts'
import { type DaemonHttp, daemonHttp } from '../target/daemon-http.ts'
import { countOf, duration } from '../terminal/numbers.ts'
import { safe, safeJson } from '../terminal/text.ts'

/** Processes report every two seconds, the daemon its own denials at once. */
const everyMs = 1000
/** As many denials are remembered as 1,000 processes report, so that a daemon that was restarted repeats none. */
const remembered = 30_000

/** Prints denials as they come, until it is interrupted or has printed enough. */
export async function tail(input: Input, terminal: Terminal): Promise<ExitCode> {
  const daemon = daemonHttp(input)
  const [rule, key, reason] = ['rule', 'key', 'reason'].map((name) => input.text(name))
  const isWanted = (denial: Denial): boolean =>
    (rule === undefined || denial.rule === rule) &&
    (key === undefined || denial.key.includes(key)) &&
    (reason === undefined || denial.reason === reason)
  if (rule !== undefined) await checkRule(daemon, rule)
  let left = input.whole('count', 1) ?? Number.POSITIVE_INFINITY
  let next = ''
  const seen = new Set<string>()
  let isAway = false
  let last = input.whole('last', 0) ?? 10
  const stop = new AbortController()
  const end = (): void => stop.abort()
  process.once('SIGINT', end).once('SIGTERM', end)
  try {
    while (!stop.signal.aborted) {
      const path = `/v1/denials?limit=1000${next === '' ? '' : `&after=${next}`}`
      const answer = (await daemon.json('GET', path).catch((error) => {
        // A daemon that is restarted is asked again until it answers.
        if (next === '' || !(error instanceof CliError && error.exitCode === 3)) throw error
        if (!isAway) terminal.note(terminal.style.warn(`${error.message}; asking again`))
      })) as Denials | undefined
      isAway = answer === undefined
      if (answer === undefined) {
        await sleep(everyMs, undefined, { signal: stop.signal }).catch(() => {})
        continue
      }
      const fresh = answer.denials.filter((denial) => !seen.has(denial.id) && isWanted(denial)).reverse()
      // Daemons of an older version give none.
      for (const { id } of answer.denials) if (id !== undefined) seen.add(id)
      for (const id of seen) {
        if (seen.size <= remembered) break
        seen.delete(id)
      }
      for (const denial of next === '' ? fresh.slice(fresh.length - Math.min(last, fresh.length)) : fresh) {
        print(denial, terminal)
        if (--left === 0) return 0
      }
      if (next === '' && fresh.length === 0) terminal.note(terminal.style.faint('none so far; waiting for denials'))
      if (answer.missed > 0) terminal.note(terminal.style.warn(`${countOf(answer.missed, 'denial')} not shown`))
      next = answer.next
      last = 0
      await sleep(everyMs, undefined, { signal: stop.signal }).catch(() => {})
    }
    return 0
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end)
  }
}

/** A rule that does not exist would be waited for without an end. */
async function checkRule(daemon: DaemonHttp, rule: string): Promise<void> {
  const { rules } = (await daemon.json('GET', '/v1/policy')) as Policy
  if (!rules.includes(rule)) throw wrongUse(`the policy has ${noneCalled('rule', rule, rules)}`)
}

const reasons: Readonly<Record<string, string>> = {
  quota: 'limit used up',
  blocked: 'blocked',
  forbidden: 'denied by the policy',
  'missing-key': 'no key in the request',
  unavailable: 'the store is away',
}

function print(denial: Denial, terminal: Terminal): void {
  if (terminal.json) {
    terminal.line(safeJson(denial))
    return
  }
  const { style } = terminal
  const { at, rule, key, reason, limit, retryAfterMs, cost, replica } = denial
  const why = reason === 'quota' && limit !== null ? `${limit} used up` : (reasons[reason] ?? reason)
  const again = retryAfterMs === null ? 'never passes' : retryAfterMs === 0 ? '' : `again in ${duration(retryAfterMs)}`
  const details = [why, cost === 1 ? '' : `cost ${cost}`, again, replica === null ? '' : `by ${replica}`]
  terminal.line(
    [
      style.faint(new Date(at).toLocaleTimeString('en-GB')),
      style.accent(safe(key === '' ? rule : key)),
      safe(details.filter(Boolean).join(', ')),
    ].join('  '),
  )
}
