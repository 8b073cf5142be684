import { parseRedisUrl } from '../../config/redis-target.ts'
import { hideUrl } from '../../config/secrets/hide-secrets.ts'
import { examineDaemon } from '../doctor/examine-daemon.ts'
import { examinePolicy } from '../doctor/examine-policy.ts'
import { examineRedis, redisAway } from '../doctor/examine-redis.ts'
import type { Finding } from '../doctor/finding.ts'
import { findingLines } from '../doctor/finding-lines.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Input } from '../input.ts'
import { openStore } from '../target/open-store.ts'
import { type Progress, progress } from '../terminal/progress.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Checks everything that was named, and prints what to fix. */
export async function doctor(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [redis, policy] = [input.text('redis'), input.text('policy')]
  const url = input.text('url') ?? (redis === undefined && policy === undefined ? 'default' : undefined)
  const shown = progress(terminal)
  const findings: Finding[] = []
  let policyVersion: string | undefined
  try {
    if (redis !== undefined)
      findings.push(...(await lookAtRedis(redis, input.text('redis-prefix') ?? 'sluice:', shown)))
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

async function lookAtRedis(url: string, prefix: string, shown: Progress): Promise<Finding[]> {
  // A URL that is no Redis is a wrong option, and not a Redis that is away.
  parseRedisUrl(url, '--redis')
  shown.at(0, `connecting to ${hideUrl(url)}`)
  try {
    const redis = await openStore(url)
    try {
      const found = await examineRedis(redis.client, prefix, (share, what) => shown.at(share * 0.6, what))
      return [{ about: 'redis', level: 'ok', text: redis.description }, ...found]
    } finally {
      await redis.close()
    }
  } catch (error) {
    return [redisAway(error as Error)]
  }
}

function verdict(findings: readonly Finding[]): ExitCode {
  const has = (level: Finding['level']): boolean => findings.some((finding) => finding.level === level)
  if (has('not-permitted')) return 4
  return has('out-of-reach') ? 3 : has('problem') || has('warning') ? 1 : 0
}
