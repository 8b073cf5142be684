import { redisFrom } from '../../../config/redis-from.ts'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { progress } from '../../terminal/progress.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { examineDaemon } from './examine-daemon.ts'
import { examinePolicy } from './examine-policy.ts'
import type { Finding } from './finding.ts'
import { findingLines } from './finding-lines.ts'
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
    for (const line of findingLines(findings, terminal.style)) terminal.line(line)
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
