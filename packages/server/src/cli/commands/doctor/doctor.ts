import { PolicyError } from 'sluice'
import { redisFrom } from '../../../config/redis-from.ts'
import { hideSecrets, hideUrl } from '../../../connections/hide-secrets.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { countOf } from '../../terminal/numbers.ts'
import { progress } from '../../terminal/progress.ts'
import type { Style } from '../../terminal/style.ts'
import { pad, safe } from '../../terminal/text.ts'
import { compileApart } from '../policy/change.ts'
import { readPlace } from '../policy/open-archive.ts'
import { examineDaemon } from './examine-daemon.ts'
import { type Finding, ok, problem, unreachable, warning } from './finding.ts'
import { lookAtRedis } from './look-at-redis.ts'

/** Checks everything that was named, and prints what to fix. */
export async function doctor(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [redis, policy] = [redisFrom(input), input.text('policy')]
  const url = input.text('url') ?? (redis === undefined && policy === undefined ? 'default' : undefined)
  const shown = progress(terminal)
  const findings: Finding[] = []
  let policyVersion: string | undefined
  try {
    if (redis !== undefined) {
      const asked = { prefix: input.text('redis-prefix') ?? 'sluice:', acceptsEviction: input.flag('accept-eviction') }
      findings.push(...(await lookAtRedis(redis, asked, shown)))
    }
    if (policy !== undefined) {
      shown.at(0.6, 'looking at the policy')
      const found = await examinePolicy(policy, (version) => {
        policyVersion = version
      })
      findings.push(...found)
    }
    if (url !== undefined) {
      shown.at(0.8, 'looking at the daemon')
      findings.push(...(await examineDaemon(input, { policyVersion, hasRedis: redis !== undefined })))
    }
  } finally {
    shown.end()
  }
  const exitCode = verdict(findings)
  terminal.result({ ok: exitCode === 0, findings }, () => {
    terminal.lines(findingLines(findings, terminal.style))
    const bad = findings.filter(({ level }) => level !== 'ok').length
    const { style } = terminal
    terminal.line(
      bad === 0 ? style.good('All is well.') : style.warn(bad === 1 ? 'One thing to mend.' : `${bad} things to mend.`),
    )
  })
  return exitCode
}

/** The exit code for all that was found. */
export function verdict(findings: readonly Finding[]): ExitCode {
  const has = (level: Finding['level']): boolean => findings.some((finding) => finding.level === level)
  if (has('not-permitted')) return 4
  return has('out-of-reach') ? 3 : has('problem') || has('warning') ? 1 : 0
}

/** Findings as lines for people: a mark, what was looked at, what was found, what to do. */
function findingLines(findings: readonly Finding[], style: Style): string[] {
  const marks = {
    ok: style.good('✓'),
    warning: style.warn('!'),
    problem: style.bad('✗'),
    'out-of-reach': style.bad('✗'),
    'not-permitted': style.bad('✗'),
  }
  const width = Math.max(...findings.map(({ about }) => about.length), 0)
  return findings.flatMap(({ about, level, text, mend }) => {
    const line = `${marks[level]} ${pad(style.strong(about), width, 'left')}  ${safe(text)}`
    return mend === undefined ? [line] : [line, `  ${' '.repeat(width)}  ${style.warn('mend:')} ${mend}`]
  })
}

/** Reads the policy of a place and says whether it makes sense. `learn` is called with its version. */
async function examinePolicy(place: string, learn: (version: string) => void): Promise<Finding[]> {
  let read: { document: unknown; description: string }
  try {
    read = await readPlace(place)
  } catch (error) {
    const mend = 'correct --policy, or push a policy there: sluice policy push FILE --policy SOURCE'
    return [unreachable('policy source', `${hideUrl(place)}: ${hideSecrets((error as Error).message)}`, mend)]
  }
  const source = ok('policy source', `${read.description} was read`)
  try {
    const { service, version, rules } = compileApart(read.document).policy
    learn(version)
    const findings = [source, ok('policy', `service ${service}, version ${version}, ${countOf(rules.length, 'rule')}`)]
    if (rules.length > 0 && rules.every(({ mode }) => mode === 'shadow')) {
      findings.push(
        warning(
          'rules',
          'every rule only watches (mode: shadow), so nothing is ever denied',
          'take mode: shadow away where limits shall hold',
        ),
      )
    }
    return findings
  } catch (error) {
    const many = error instanceof PolicyError ? `${countOf(error.issues.length, 'mistake')}` : (error as Error).message
    return [source, problem('policy', `it has ${many}`, `see them with: sluice policy validate ${hideUrl(place)}`)]
  }
}
