import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { formatDuration } from '../../packages/sluice/src/core/duration.ts'
import { compilePolicy } from '../../packages/sluice/src/policy/compile/compile-policy.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'reference', 'policy.md'), 'utf8')

/** The default that the page names for a field of a section. */
function named(section: string, field: string): string | undefined {
  const [text = ''] = page.split(`\n## ${section}\n`)[1]?.split('\n## ') ?? []
  const row = text.split('\n').find((line) => line.startsWith(`| \`${field}\` |`))
  return row?.split(' | ').at(-2)?.trim()
}

it('names for upstreams the defaults that are in force', () => {
  const { upstreams } = compilePolicy({
    service: 's',
    upstreams: [{ name: 'v', limits: { rps: 1 }, retry: {}, breaker: {} }],
  })
  const { maxWaitMs, timeoutMs, maxPauseMs, arrival, afterLoss, onStoreFailure, retry, breaker } = upstreams[0]!
  const inForce = {
    'upstreams[]': {
      maxWait: formatDuration(maxWaitMs),
      timeout: formatDuration(timeoutMs),
      maxPause: formatDuration(maxPauseMs),
      arrival,
      afterLoss,
      onStoreFailure,
    },
    'upstreams[].retry': {
      attempts: retry!.attempts,
      base: formatDuration(retry!.baseMs),
      max: formatDuration(retry!.maxMs),
      budgetPercent: retry!.budgetPercent,
      floorPerSecond: retry!.floorPerSecond,
    },
    'upstreams[].breaker': { failures: breaker!.failures, cooldown: formatDuration(breaker!.cooldownMs) },
  }
  const sameUnit = (text: string): string => (text === '60s' ? '1m' : text)
  for (const [section, fields] of Object.entries(inForce))
    for (const [field, value] of Object.entries(fields))
      expect(sameUnit(named(section, field) ?? ''), `${section}.${field}`).toBe(String(value))
})
